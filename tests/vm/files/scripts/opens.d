#!/usr/sbin/dtrace -s
/* Each file that is opened, or is not. */
#pragma D option quiet
#pragma D option defaultargs

inline int OPT_pid = 0;
inline int OPT_errors = $1;
inline int OPT_long = 0;

dtrace:::BEGIN
{
	OPT_long ? printf("%-20s ", "TIME") : 1;
	printf("%5s %6s %4s %4s %-16s %s\n", "UID", "PID", "FD", "ERR", "COMM", "PATH");
}

syscall::open:entry { self->at = arg0; self->ok = 1; }
syscall::openat:entry { self->at = arg1; self->ok = 1; }

syscall::open:return, syscall::openat:return
/self->ok && (!OPT_errors || errno != 0)/
{
	this->path = copyinstr(self->at);
	OPT_long ? printf("%-20Y ", walltimestamp) : 1;
	printf("%5d %6d %4d %4d %-16s %s\n", uid, pid, (int)arg0, errno, execname, this->path);
}

syscall::open:return, syscall::openat:return
/self->ok/
{
	self->at = 0;
	self->ok = 0;
}
