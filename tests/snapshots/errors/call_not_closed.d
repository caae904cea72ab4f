BEGIN { printf("%d", x; }
