BEGIN { printf("%d", stack()); }
