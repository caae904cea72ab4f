BEGIN { self->f = getf(1); printf("%d", pid); }
