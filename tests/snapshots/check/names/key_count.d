BEGIN { a[1, 2] = 1; }
END { trace(a[1]); }
