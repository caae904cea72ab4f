BEGIN { tracemem(execname, 10); }
