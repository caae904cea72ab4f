BEGIN { ustack(pid); }
