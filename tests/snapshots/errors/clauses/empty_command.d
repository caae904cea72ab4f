/* test: -n */

