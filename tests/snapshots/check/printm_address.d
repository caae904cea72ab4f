BEGIN { printm(4, 5); }
