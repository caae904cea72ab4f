#!/usr/sbin/dtrace -s
/* Programs killed by a signal that they cause. */
#pragma D option quiet

proc:::signal-send
/(args[2] == 11 || args[2] == 6) && pid == args[1]->pr_pid/
{
	self->crash = args[2];
}

proc:::exit
/self->crash/
{
	printf("\n-----------------------\nType %d, signal %d, program %s\n", args[0], self->crash, execname);
	printf("User: %d, parent %d\n", uid, ppid);
	self->crash = 0;
}
