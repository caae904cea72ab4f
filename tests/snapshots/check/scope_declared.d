int `x; BEGIN { }
