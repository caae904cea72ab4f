#!/usr/sbin/dtrace -s
/* Calls of other CPUs, by process. */
#pragma D option quiet

sysinfo:::xcalls { @num[pid, execname] = sum(arg0); }

dtrace:::END { printf("%6s %-16s %8s\n", "PID", "CMD", "XCALLS"); printa("%6d %-16s %@8d\n", @num); }
