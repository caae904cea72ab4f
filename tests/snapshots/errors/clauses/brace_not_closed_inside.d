BEGIN
{
	if (x) {
		trace(1);
		if (y) {
			trace(2);
	}
	trace(3);
}

END
{
	trace(4);
}
