#!/usr/sbin/dtrace -s
/* Incoming connections. */
#pragma D option quiet

syscall::accept*:return
/(int)arg0 >= 0/
{
	printf("%5d %6d %-12s %d\n", uid, pid, execname, (int)arg0);
}
