BEGIN { @a = lquantize(pid, 0, 0x100000000); }
