BEGIN { @a = llquantize(pid, 10, 0, 6, 20); }
END { @a = llquantize(pid, 10, 0, 7, 20); }
