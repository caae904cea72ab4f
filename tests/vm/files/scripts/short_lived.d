#!/usr/sbin/dtrace -s
/* The time of programs that live for less than a second. */
#pragma D option quiet

proc:::exec-success { self->start = timestamp; }

proc:::exit
/self->start && timestamp - self->start < 1000000000/
{
	@pid[execname, ppid] = sum((timestamp - self->start) / 1000);
	@n[execname, ppid] = count();
	self->start = 0;
}

dtrace:::END { printa("short lived: %s of %d: %@d us in %@d\n", @pid, @n); }
