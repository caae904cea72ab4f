BEGIN { self->s = "a"; x["k"] = "b"; y = execname; }
END { self->s = 0; x["k"] = NULL; y = 0; }
