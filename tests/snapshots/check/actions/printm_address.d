BEGIN { printm(4, NULL); }
