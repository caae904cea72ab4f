#!/usr/sbin/dtrace -s
/* Each system call of the program, with its arguments and result. */
#pragma D option quiet
#pragma D option switchrate=10

inline int OPT_elapsed = 0;
inline int OPT_counts = 1;
inline int OPT_noerrors = 1;

dtrace:::BEGIN
{
	OPT_elapsed ? printf("%-9s ", "ELAPSED") : 1;
	printf("SYSCALL(args) \t\t = return\n");
}

syscall:::entry
/pid == $target/
{
	self->start = timestamp;
	self->arg0 = arg0; self->arg1 = arg1; self->arg2 = arg2;
	OPT_counts ? @counts[probefunc] = count() : 1;
}

syscall::write:return
/self->start/
{
	OPT_elapsed ? printf("%-9d ", (timestamp - self->start) / 1000) : 1;
	printf("%s(0x%X, \"%S\", 0x%X)\t\t = %d %d\n", probefunc, self->arg0,
	    stringof(copyin(self->arg1, self->arg2 < 12 ? self->arg2 : 12)), self->arg2, (int)arg0, (int)errno);
	self->start = 0;
}

syscall::openat:return
/self->start/
{
	printf("%s(0x%X, \"%S\", 0x%X)\t\t = %d %s%d\n", probefunc, (int)self->arg0, copyinstr(self->arg1), self->arg2,
	    (int)arg0, (int)arg0 >= 0 ? "" : "Err#", (int)errno);
	self->start = 0;
}

syscall:::return
/self->start/
{
	printf("%s(0x%X, 0x%X, 0x%X)\t\t = %d %s%d\n", probefunc, self->arg0, self->arg1, self->arg2, (int)arg0,
	    (int)arg0 >= 0 ? "" : "Err#", (int)errno);
	self->start = 0; self->arg0 = 0; self->arg1 = 0; self->arg2 = 0;
}

dtrace:::END
{
	OPT_counts ? printf("\n%-32s %16s\n", "CALL", "COUNT") : 1;
	OPT_counts ? printa("%-32s %@16d\n", @counts) : 1;
}
