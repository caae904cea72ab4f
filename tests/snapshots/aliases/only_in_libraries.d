provider mine {
	probe ok(int n);
	probe p(int n) = "fbt::f:entry" (arg0);
};

BEGIN
{
	trace(1);
}
