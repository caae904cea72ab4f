BEGIN { self->s = arg0 ? execname : NULL; y = arg0 ? 0 : "text"; self->s = 0; }
