BEGIN { @a = llquantize(pid, 10, 0, 70000, 20); }
