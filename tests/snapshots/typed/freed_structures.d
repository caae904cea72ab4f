struct pair { int low; int high; };
struct pair made[int];
BEGIN { self->p = *(struct pair *)alloca(sizeof (struct pair)); made[1] = self->p; self->q["a", 2] = self->p; }
END { self->p = 0; made[1] = NULL; self->q["a", 2] = 0; }
