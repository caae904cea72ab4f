BEGIN { trace(inet_ntoa6((void *)0, 0)); }
