struct o { int a; }; provider p { probe a(int x) : (struct o *x); }; BEGIN { }
