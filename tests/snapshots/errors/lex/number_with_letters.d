BEGIN { trace(123abc); }
