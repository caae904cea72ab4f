BEGIN { printf("%*d", execname, 1); }
