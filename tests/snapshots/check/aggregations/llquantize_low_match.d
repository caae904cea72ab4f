BEGIN { @a = llquantize(pid, 10, 0, 6, 20); }
END { @a = llquantize(pid, 10, 1, 6, 20); }
