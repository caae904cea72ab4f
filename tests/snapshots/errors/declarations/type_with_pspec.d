/* test: type: foo_t */
#pragma D option pspec
foo_t x; BEGIN { x = 1; }
