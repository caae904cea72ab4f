other:::gone
{
	trace(arg0);
}

other:::go*
{
	trace(arg0);
}
