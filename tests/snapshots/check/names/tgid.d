BEGIN { trace(tgid); }
