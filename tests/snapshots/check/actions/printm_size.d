BEGIN { printm(0, memref((void *)4, 5)); }
