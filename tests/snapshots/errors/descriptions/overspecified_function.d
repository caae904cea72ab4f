/* test: -f */
a:b:c:d
