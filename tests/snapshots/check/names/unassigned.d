BEGIN /self->traced/ { }
