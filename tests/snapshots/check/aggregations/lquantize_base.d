BEGIN { @a = lquantize(pid, pid, 10); }
