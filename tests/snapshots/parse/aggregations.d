BEGIN
{
	@ = count(); @a = sum(arg0); @b[pid, execname] = quantize(arg0, 2);
	@c[stack(), ustack(5)] = lquantize(arg0, 0, 100, 10);
	printa("%@d\n", @a, @b); clear(@); trunc(@b, 5);
}
