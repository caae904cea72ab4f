BEGIN { trace(123$pid); }
