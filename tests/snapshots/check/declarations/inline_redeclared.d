inline int n = 1; inline int n = 2; BEGIN { }
