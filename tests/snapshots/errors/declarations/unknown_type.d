BEGIN { x = (foo_t *)arg0; }
