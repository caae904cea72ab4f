self extern int x;
