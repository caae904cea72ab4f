BEGIN { trace(nothing); }
END { trace(offsetof(int, x)); }
