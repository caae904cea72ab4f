/* test: type: foo_t */
BEGIN { x = foo_t + 1; }
