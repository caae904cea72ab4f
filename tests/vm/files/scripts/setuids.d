#!/usr/sbin/dtrace -s
/* Calls that change the identity of a process. */
#pragma D option quiet

syscall::setuid:entry, syscall::setgid:entry { self->uid = uid; self->to = arg0; self->ok = 1; }
syscall::setuid:return, syscall::setgid:return
/self->ok/
{
	printf("%5d %5d %6d %-12s %s %d %s\n", self->uid, uid, pid, execname, probefunc, self->to, curpsinfo->pr_psargs);
	self->uid = 0; self->to = 0; self->ok = 0;
}
