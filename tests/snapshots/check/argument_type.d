BEGIN { trace(strlen(pid)); }
