BEGIN { this->x = *(struct never *)curthread; }
