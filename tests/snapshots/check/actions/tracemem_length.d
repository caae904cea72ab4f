BEGIN { tracemem(arg0, 16, execname); }
