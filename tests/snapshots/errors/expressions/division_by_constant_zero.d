BEGIN { trace(nowhere); x = y / (2 - 2); }
