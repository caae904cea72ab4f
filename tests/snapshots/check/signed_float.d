unsigned double x; BEGIN { }
