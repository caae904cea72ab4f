typedef int size_t; BEGIN { }
