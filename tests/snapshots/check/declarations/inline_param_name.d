inline int n[int] = 1; BEGIN { }
