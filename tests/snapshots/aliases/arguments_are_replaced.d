other:::some
/arg0 > 2 && args[1] == arg1/
{
	self->sum += args[0] * 2;
	@[probeprov, probename, probefunc, execname] = sum(arg0);
	printf("%s %d\n", probename, -arg1);
}
