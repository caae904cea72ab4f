#!/usr/sbin/dtrace -s
/* Mapped files, by process. */
#pragma D option quiet

syscall::mmap:entry
/(int)arg4 >= 0 && (int)arg4 < 256/
{
	@[execname, fds[arg4].fi_pathname] = count();
}

dtrace:::END { printa("%-16s %-50s %@8d\n", @); }
