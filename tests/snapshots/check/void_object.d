void x; BEGIN { }
