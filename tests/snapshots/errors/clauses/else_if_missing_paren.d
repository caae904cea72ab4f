BEGIN { if (x) y; else if z; }
