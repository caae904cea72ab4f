BEGIN { self->start = 1; trace(start); }
