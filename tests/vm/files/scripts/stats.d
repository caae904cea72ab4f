#!/usr/sbin/dtrace -s
/* Each stat() of a path. */
#pragma D option quiet

inline int OPT_failed = 0;

syscall::stat:entry, syscall::lstat:entry, syscall::access:entry { self->pathp = arg0; self->ok = 1; }
syscall::newfstatat:entry, syscall::statx:entry, syscall::faccessat*:entry { self->pathp = arg1; self->ok = 1; }

syscall::stat:return, syscall::lstat:return, syscall::access:return, syscall::newfstatat:return,
syscall::statx:return, syscall::faccessat*:return
/self->ok && (OPT_failed ? errno != 0 : 1)/
{
	printf("%6d %-12s %3d %3d %s\n", pid, execname, (int)arg0, errno, copyinstr(self->pathp));
	self->pathp = 0;
	self->ok = 0;
}
