enum { A = 2147483647, B }; BEGIN { }
