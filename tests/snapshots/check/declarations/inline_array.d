inline int n[4] = 1; BEGIN { }
