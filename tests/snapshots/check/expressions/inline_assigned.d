inline int n = 1; BEGIN { n = 2; }
