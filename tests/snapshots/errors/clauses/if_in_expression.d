BEGIN { x = if (y) 1; }
