/* test: -n */
kinst::f:entry /pid/ { printf("\t%d\t%s", pid, execname); @a[execname] = count(); if (x) { self->ts = timestamp; } }
