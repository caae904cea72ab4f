/* test: -n */
BEGIN { x = (1; }
