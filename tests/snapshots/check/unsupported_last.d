BEGIN { self->spec = speculation(); speculate(self->spec); printf("%d", pid); }
