int; BEGIN { }
