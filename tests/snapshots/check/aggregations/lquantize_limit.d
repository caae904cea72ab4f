BEGIN { @a = lquantize(pid, 0, pid); }
