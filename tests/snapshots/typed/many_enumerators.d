enum e { A, B = A + 3, C };
provider own { probe made(int a, char *b) : (char *b, int a); };
own:::made { trace(args[1] + C); trace(stringof(args[0])); }
