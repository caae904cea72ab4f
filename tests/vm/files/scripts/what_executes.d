#!/usr/sbin/dtrace -s
/* The first bytes of executed files. */
#pragma D option quiet

fbt::bprm_execve:entry
{
	printf("%d %s %s\n", pid, execname, stringof(((struct linux_binprm *)arg0)->filename));
}
