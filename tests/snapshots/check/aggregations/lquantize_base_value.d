BEGIN { @a = lquantize(pid, 0x100000000, 10); }
