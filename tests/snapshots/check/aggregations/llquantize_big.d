BEGIN { @a = llquantize(pid, 10, 0, 19, 20); }
