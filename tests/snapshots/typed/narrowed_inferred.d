BEGIN { self->since = pid; }
BEGIN { self->since = timestamp; start = 0; }
BEGIN { start = timestamp; }
