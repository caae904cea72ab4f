other:::
{
	trace(probename);
}

other:::s*
{
	trace(arg0);
}
