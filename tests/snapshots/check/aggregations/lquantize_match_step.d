BEGIN { @a = lquantize(pid, 0, 10); }
END { @a = lquantize(pid, 0, 10, 2); }
