kinst:vmlinux:inl:entry { self->t = timestamp; }
kinst:vmlinux:inl:return /self->t/ { @ = quantize(timestamp - self->t); self->t = 0; }
