inline int n[int a] = a; BEGIN { trace(n["x"]); }
