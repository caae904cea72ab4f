enum { A }; enum { B, A }; BEGIN { }
