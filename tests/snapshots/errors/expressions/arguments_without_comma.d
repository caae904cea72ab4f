BEGIN { trace(a b); }
