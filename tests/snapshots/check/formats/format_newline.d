BEGIN { printf("100%\n"); }
