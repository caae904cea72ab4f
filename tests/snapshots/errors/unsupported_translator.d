translator foo_t < int v > { a = v; };
