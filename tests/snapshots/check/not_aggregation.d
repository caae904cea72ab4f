BEGIN { clear(pid); }
