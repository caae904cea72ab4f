/* test: -n */
BEGIN /pid == 1 { trace(1); }
