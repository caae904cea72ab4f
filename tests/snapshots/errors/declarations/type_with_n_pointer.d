/* test: -n, type: foo_t */
foo_t *x; BEGIN { x = 1; }
