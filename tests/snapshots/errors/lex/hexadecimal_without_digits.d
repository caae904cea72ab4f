BEGIN { trace(0x); }
