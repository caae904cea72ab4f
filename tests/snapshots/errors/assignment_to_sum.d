BEGIN { a + b = c; }
