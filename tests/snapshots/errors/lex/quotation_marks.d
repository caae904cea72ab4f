BEGIN { printf(“hello”); }
