int f(int x[int]);
BEGIN { }
