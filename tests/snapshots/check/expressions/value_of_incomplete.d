BEGIN { trace(*(struct never *)curthread); }
