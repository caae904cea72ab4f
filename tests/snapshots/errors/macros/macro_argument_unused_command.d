/* test: -n, args: one */
BEGIN
