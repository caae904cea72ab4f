inline int n = n + 1; BEGIN { }
