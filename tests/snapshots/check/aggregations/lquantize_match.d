BEGIN { @a = lquantize(pid, 0, 10); }
END { @a = lquantize(pid, 1, 10); }
