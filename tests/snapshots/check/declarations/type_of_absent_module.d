BEGIN { trace((struct nosuch`x *)0); }
