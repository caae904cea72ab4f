BEGIN { printf("100%é", 1); }
