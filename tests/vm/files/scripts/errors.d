#!/usr/sbin/dtrace -s
/* System calls that fail, by program, call and error number. */
#pragma D option quiet

syscall:::return
/errno != 0 && pid != $pid/
{
	@errs[execname, probefunc, errno] = count();
}

dtrace:::END
{
	printf("%-16s %-16s %-4s %8s\n", "EXEC", "SYSCALL", "ERR", "COUNT");
	printa("%-16s %-16s %-4d %@8d\n", @errs);
}
