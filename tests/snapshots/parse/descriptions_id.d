/* test: -i */
12, 13 /pid == 1/ { trace(1); }
