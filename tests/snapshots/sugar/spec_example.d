BEGIN /x/ { if (y > 1) trace("a"); else @c[execname] = count(); }
