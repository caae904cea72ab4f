/* test: -i */
0
