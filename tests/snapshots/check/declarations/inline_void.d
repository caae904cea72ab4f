inline void n = 1; BEGIN { }
