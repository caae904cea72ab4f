#!/usr/sbin/dtrace -s
/* The ten most frequent system calls, every second. */
#pragma D option quiet
#pragma D option destructive

dtrace:::BEGIN { system("echo begun"); }
syscall:::entry { @Name[probefunc] = count(); }
profile:::tick-1sec
{
	printf("%-20s %10s\n", "SYSCALL", "COUNT");
	trunc(@Name, 10);
	printa("%-20s %10@d\n", @Name);
	trunc(@Name);
}
