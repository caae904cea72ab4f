#!/usr/sbin/dtrace -s
/* The CPUs that a program runs on. */
#pragma D option quiet

profile:::profile-1000hz
/pid == $target/
{
	@sample[pid, execname] = lquantize(cpu, 0, 16, 1);
}

dtrace:::END { printa("PID: %d %s\n%@d\n", @sample); }
