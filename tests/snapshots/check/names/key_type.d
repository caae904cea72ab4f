BEGIN { a["x", 2] = 1; }
END { trace(a["x", "y"]); }
