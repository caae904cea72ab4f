BEGIN /pid ==/ { trace(1); }
