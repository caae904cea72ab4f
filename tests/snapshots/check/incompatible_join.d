BEGIN { trace(execname + "x"); }
