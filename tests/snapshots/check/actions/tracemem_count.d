BEGIN { tracemem(arg0, 8, 4, 2); }
