BEGIN
{
	trace(1);
	if (x) {
		trace(2);
}
