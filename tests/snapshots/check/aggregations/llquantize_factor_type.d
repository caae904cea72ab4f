BEGIN { @a = llquantize(pid, pid, 0, 6, 20); }
