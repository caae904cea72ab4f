BEGIN { x = 1 if (y) z; }
