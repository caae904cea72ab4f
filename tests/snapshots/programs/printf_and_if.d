kinst::f:entry
/pid != 1/
{
	printf("%d %s\n", pid, execname);
	if (arg0 > 4096) {
		@large[execname] = quantize(arg0);
	} else if (arg0)
		@small = sum(arg0);
}
