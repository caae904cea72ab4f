static int x; BEGIN { }
