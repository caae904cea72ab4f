other:::plane
{
	trace(arg0);
}

other:::nothing-like-it
{
	trace(arg0);
}

other::f:plain
{
	trace(arg0);
}
