struct never *n; BEGIN { trace(n->x); }
