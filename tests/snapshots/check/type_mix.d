long short x; BEGIN { }
