BEGIN { @["x", 10] = sum(1); printa("%*d", @); }
