BEGIN, other:::plain, tick-1s, END, other:::some
/pid == 1/
{
	trace(pid);
}
