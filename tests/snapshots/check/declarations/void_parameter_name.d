int f(int a, void b);
BEGIN { }
