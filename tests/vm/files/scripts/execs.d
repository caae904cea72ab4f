#!/usr/sbin/dtrace -s
/* Each program that begins, with the columns that the options select. */
#pragma D option quiet
#pragma D option switchrate=10hz
#pragma D option defaultargs

inline int OPT_time = 1;
inline int OPT_json = 0;
inline int FILTER = 0;
inline string ONLY = $$1;

dtrace:::BEGIN
{
	OPT_time ? printf("%-14s ", "STAMP") : 1;
	printf("%5s %6s %6s %s\n", "UID", "PID", "PPID", "ARGS");
}

syscall::exec*:return
/(FILTER == 0 || execname == ONLY) && errno == 0/
{
	self->ok = 1;
}

syscall::exec*:return
/self->ok/
{
	OPT_time ? printf("%-14d ", timestamp / 1000) : 1;
	OPT_json ? printf("{ \"pid\": %d }\n", pid) : printf("%5d %6d %6d %s\n", uid, pid, ppid, curpsinfo->pr_psargs);
	self->ok = 0;
}
