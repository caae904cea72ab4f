#!/usr/sbin/dtrace -s
/* The data of uname, from the kernel. */
#pragma D option quiet

dtrace:::BEGIN
{
	printf("%s %s %s %s\n", stringof(`init_uts_ns.name.sysname), stringof(`init_uts_ns.name.nodename),
	    stringof(`init_uts_ns.name.release), stringof(`init_uts_ns.name.machine));
	exit(0);
}
