#!/usr/sbin/dtrace -s
/* Minor faults, by process. */
#pragma D option quiet

vminfo:::as_fault { @mem[pid, execname] = sum(arg0); }
dtrace:::END { printf("%6s %-16s %16s\n", "PID", "CMD", "MINFAULTS"); printa("%6d %-16s %@16d\n", @mem); }
