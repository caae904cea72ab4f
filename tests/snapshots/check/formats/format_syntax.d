BEGIN { printf("\t%d %z", pid, pid); }
