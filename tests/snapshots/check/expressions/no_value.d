BEGIN { x = bcopy(alloca(1), alloca(1), 1); }
