#!/usr/sbin/dtrace -s
/* All of vminfo, by process. */
#pragma D option quiet

vminfo::: { @num[pid, execname, probename] = sum(arg0); }
dtrace:::END { printf("%6s %-16s %-16s %16s\n", "PID", "EXEC", "VM", "VALUE"); printa("%6d %-16s %-16s %@16d\n", @num); }
