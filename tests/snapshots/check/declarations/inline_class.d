inline static int n = 1; BEGIN { }
