BEGIN { a[1; }
