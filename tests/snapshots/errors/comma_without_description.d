/* test: -n */
BEGIN,
