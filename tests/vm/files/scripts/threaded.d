#!/usr/sbin/dtrace -s
/* Running threads. */
#pragma D option quiet

profile:::profile-1001 /pid != 0/ { @sample[pid, execname] = lquantize(cpu, 0, 128, 1); @threads[pid, execname, tid] = count(); }
dtrace:::END { printa("%d %s thread %d: %@d\n", @threads); }
