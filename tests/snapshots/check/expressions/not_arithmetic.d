BEGIN { trace(execname * 2); }
