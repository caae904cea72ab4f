#!/usr/sbin/dtrace -s
/* Running functions of the kernel. */
#pragma D option quiet

profile:::profile-1001hz
/arg0/
{
	@hot[func(arg0)] = count();
	@modules[mod(arg0)] = count();
}

dtrace:::END
{
	printa("%-60a %@10d\n", @hot);
	printa("module %-40a %@10d\n", @modules);
}
