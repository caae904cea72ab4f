#!/usr/sbin/dtrace -s
/* Which functions of a program run. */
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
