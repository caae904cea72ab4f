/* test: -n */
BEGIN { if (x
