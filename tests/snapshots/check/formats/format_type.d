BEGIN { printf("%d %d", pid, execname); }
