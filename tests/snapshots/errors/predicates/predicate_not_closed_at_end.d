/* test: -n */
BEGIN /pid == 1
