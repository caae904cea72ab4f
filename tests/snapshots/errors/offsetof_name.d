BEGIN { offsetof(x, y); }
