BEGIN { ustack(3, pid); }
