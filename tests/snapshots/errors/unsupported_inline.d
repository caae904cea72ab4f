inline int x = 1;
