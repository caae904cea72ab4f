BEGIN { trace(execname == 3); }
