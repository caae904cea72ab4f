#!/usr/sbin/dtrace -s
/* All of sysinfo, by process. */
#pragma D option quiet

sysinfo::: { @num[pid, execname, probename] = sum(arg0); }
dtrace:::END { printf("%6s %-16s %-16s %12s\n", "PID", "CMD", "COUNTER", "VALUE"); printa("%6d %-16s %-16s %@12d\n", @num); }
