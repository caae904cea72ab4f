BEGIN { @a = llquantize(pid, 10, pid, 6, 20); }
