BEGIN { @a = lquantize(pid, 10, 0); }
