/* test: -n */
BEGIN; END
