other:::plain
{
	trace(arg1);
}

other:::none
{
	trace(args[0]);
}

other:::some
{
	trace(arg7);
}
