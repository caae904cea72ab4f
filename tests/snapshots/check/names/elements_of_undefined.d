BEGIN { v = a[1]; }
BEGIN { a[1] = foo; }
