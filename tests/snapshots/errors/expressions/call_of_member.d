BEGIN { a->f(2); }
