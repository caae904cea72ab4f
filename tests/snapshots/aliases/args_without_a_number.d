other:::plain
{
	trace(args[pid]);
}

other:::plain
{
	print(args);
}
