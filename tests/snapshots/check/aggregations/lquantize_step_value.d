BEGIN { @a = lquantize(pid, 0, 100000, 70000); }
