self int depth;
int seen[int, string];
uint64_t total;
fbt::f:entry { self->depth++; seen[pid, execname] = self->depth; total += arg1; }
fbt::f:return /self->depth > 0/ { self->depth--; trace(seen[pid, execname]); stack(); }
END { trace(total); }
