#!/usr/sbin/dtrace -s
/* Bytes read and written, by process. */
#pragma D option quiet

inline int OPT_clear = 0;
inline int TOP = 20;

syscall::*read:entry, syscall::*write:entry
/pid != $pid/
{
	self->rw = probefunc == "read" || probefunc == "pread" ? "R" : "W";
	self->ok = 1;
}

syscall::*read:return, syscall::*write:return
/self->ok && (int)arg0 > 0/
{
	@rw[uid, pid, ppid, execname, self->rw] = sum(arg0);
	@total[self->rw] = sum(arg0);
}

syscall::*read:return, syscall::*write:return
/self->ok/
{
	self->ok = 0;
	self->rw = 0;
}

dtrace:::END
{
	OPT_clear ? system("clear") : 1;
	printf("%5s %6s %6s %-12s %1s %12s\n", "UID", "PID", "PPID", "CMD", "D", "BYTES");
	trunc(@rw, TOP);
	printa("%5d %6d %6d %-12s %1s %@12d\n", @rw);
	printa("total %s %@d\n", @total);
}
