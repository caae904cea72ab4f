#!/usr/sbin/dtrace -s
/* Each read and write of the program. */
#pragma D option quiet
#pragma D option switchrate=10hz

inline int OPT_read = 1;
inline int OPT_write = 1;

dtrace:::BEGIN
{
	printf("%5s %6s %-12s %1s %7s %s\n", "UID", "PID", "CMD", "D", "BYTES", "FILE");
}

syscall::*read:entry
/OPT_read && pid != $pid/
{
	self->fd = arg0;
	self->dir = "R";
	self->ok = 1;
}

syscall::*write:entry
/OPT_write && pid != $pid/
{
	self->fd = arg0;
	self->dir = "W";
	self->ok = 1;
}

syscall::*read:return, syscall::*write:return
/self->ok/
{
	this->name = fds[self->fd].fi_pathname;
	this->size = arg0;
	printf("%5d %6d %-12s %1s %7d %s\n", uid, pid, execname, self->dir, (int)this->size, this->name);
	self->fd = 0; self->dir = 0; self->ok = 0;
}
