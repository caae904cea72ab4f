BEGIN { @a = llquantize(pid, 70000, 0, 6, 20); }
