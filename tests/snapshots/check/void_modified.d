unsigned void x; BEGIN { }
