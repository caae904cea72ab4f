#!/usr/sbin/dtrace -s
/* Running functions of a program. */
#pragma D option quiet

profile:::profile-1001hz
/pid == $target && arg1/
{
	@hot[ufunc(arg1)] = count();
}

dtrace:::END
{
	printa("%-60A %@10d\n", @hot);
}
