#!/usr/sbin/dtrace -s
/* Reads and writes by descriptor. */
#pragma D option quiet
#pragma D option defaultargs

syscall::*read*:entry, syscall::*write*:entry
/execname == $$1/
{
	@num[execname, probefunc] = lquantize(arg0, 0, 8, 1);
}

dtrace:::END { printa("EXEC: %s %s\n%@d\n", @num); }
