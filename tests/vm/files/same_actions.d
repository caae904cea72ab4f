#pragma D option quiet
#pragma D option nspec=4
BEGIN { self->spec = speculation(); speculate(self->spec); printf("speculated %d\n", self->spec); }
BEGIN { speculate(self->spec); trace("again\n"); }
BEGIN { commit(self->spec); }
BEGIN { a1 = speculation(); a2 = speculation(); speculate(a1); printf("never\n"); }
BEGIN { discard(a1); speculate(a2); printf("not decided\n"); }
BEGIN { printf("%d %d\n", a1, a2); }
BEGIN { printf("%d %d %d %d %d\n", speculation(), speculation(), speculation(), speculation(), speculation()); }
BEGIN {
	@l = lquantize(7, -10, 10, 3); @l = lquantize(-77, -10, 10, 3); @l = lquantize(50, -10, 10, 3);
	@ll = llquantize(7, 10, 0, 4, 20); @ll = llquantize(12345, 10, 0, 4, 20); @ll = llquantize(1 << 40, 10, 0, 4, 20); @ll = llquantize(-5, 10, 0, 4, 20);
	@q = quantize(100, 3); @q = quantize(-5); @q = quantize(0, 10);
	@sd = stddev(10); @sd = stddev(20); @sd = stddev(-1000000000000);
	@a["x", 5] = avg(10); @a["x", 5] = avg(20); @a["y", 6] = avg(3);
	@m = min(5); @m = min(-5); @mm = max(7);
}
BEGIN { p = (char *)alloca(16); p[0] = 65; p[1] = 66; tracemem(p, 8); tracemem(p, 12, 3); printm(4, memref(p, 4)); }
BEGIN { printf("%d %s %d\n", walltimestamp > 1700000000000000000, probename, id != 0); }
BEGIN { trace(*(int *)16); }
BEGIN { printf("goes on %s\n", probename); }
ERROR { printf("ERROR %s: %d %d %d %d %x\n", probename, arg1 > 0, arg2, arg3, arg4, arg5); this->bad = *(char *)8; }
END { printf("the end %s\n", probename); trace(*(int *)24); }
BEGIN { exit(3); }
BEGIN { printf("not any more\n"); }
