BEGIN { this->m = (char *)alloca(4); this->m[1] = 5; trace(this->m[1]); exit(0); }
