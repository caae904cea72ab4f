BEGIN { printf("%d", pid, execname); }
