inline int first = arg0;
inline int more = first + 1;

other:::plain
{
	trace(more);
}
