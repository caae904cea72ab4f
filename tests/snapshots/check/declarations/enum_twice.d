enum { A, B, A }; BEGIN { }
