BEGIN // { trace(1); }
