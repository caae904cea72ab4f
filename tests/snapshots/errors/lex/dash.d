BEGIN { trace(2 – 1); }
