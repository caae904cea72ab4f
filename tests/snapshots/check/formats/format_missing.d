BEGIN { printf("%d %s", pid); }
