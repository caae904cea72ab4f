/* test: -f */
12
