BEGIN { @a = llquantize(pid, 1, 0, 6, 20); }
