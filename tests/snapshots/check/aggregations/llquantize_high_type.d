BEGIN { @a = llquantize(pid, 10, 0, pid, 20); }
