BEGIN { @a = llquantize(pid, 10, 70000, 6, 20); }
