BEGIN { self-> = 1; }
