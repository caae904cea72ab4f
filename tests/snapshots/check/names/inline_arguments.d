inline int n[int a, int b] = a + b; BEGIN { trace(n[1]); }
