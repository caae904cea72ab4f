#!/usr/sbin/dtrace -s
/* System calls, by process. */
#pragma D option quiet

syscall:::entry { @num[pid, execname, probefunc] = count(); }
dtrace:::END { printf("%6s %-24s %-24s %8s\n", "PID", "CMD", "SYSCALL", "COUNT"); printa("%6d %-24s %-24s %@8d\n", @num); }
