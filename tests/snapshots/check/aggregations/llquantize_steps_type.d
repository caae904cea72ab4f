BEGIN { @a = llquantize(pid, 10, 0, 6, pid); }
