BEGIN { @a = quantize(pid, execname); }
