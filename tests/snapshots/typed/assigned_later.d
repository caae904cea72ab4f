END { if (self->count < 3) self->count = 1; else trace(seen["x"]); seen["x"]++; }
END /(d = c) == 3/ { c = 3; trace(d); }
