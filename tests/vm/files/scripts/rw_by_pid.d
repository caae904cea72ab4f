#!/usr/sbin/dtrace -s
/* Reads and writes, and their bytes, by process. */
#pragma D option quiet

sysinfo:::readch { @rs[pid, execname, "R"] = count(); @rb[pid, execname, "R"] = sum(arg0); }
sysinfo:::writech { @rs[pid, execname, "W"] = count(); @rb[pid, execname, "W"] = sum(arg0); }

dtrace:::END
{
	printf("%6s %-16s %3s %10s %10s\n", "PID", "CMD", "DIR", "COUNT", "BYTES");
	printa("%6d %-16s %3s %@10d %@10d\n", @rs, @rb);
}
