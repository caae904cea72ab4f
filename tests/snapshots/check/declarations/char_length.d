long char x; BEGIN { }
