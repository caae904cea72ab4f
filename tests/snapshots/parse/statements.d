BEGIN { }
END { ; ; trace(1); ; }
END { trace(1), trace(2); trace(3) }
tick-1s /a/ { if (a) ; if (b) c; if (d) { } else e; if (f) { g; h } else { i } }
