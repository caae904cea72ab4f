#!/usr/bin/env -S dtrace -s
/*
 * opensnoop.d: each file that a process opens or fails to open.
 *
 *	./opensnoop.d [-c COMMAND | -p PID]
 *
 * FD is the new descriptor, or -1 with the error number in ERR: 2 is ENOENT (no such file), 13
 * EACCES (permission denied). It shows where a program looks for its configuration, and which files
 * it opens again and again. Ends at ^C, or with COMMAND or PID.
 * Not every processor has open(), so a probe may match nothing (zdefs).
 */
#pragma D option quiet
#pragma D option strsize=512
#pragma D option switchrate=10hz
#pragma D option zdefs

BEGIN
{
	printf("%7s %-16s %4s %4s %s\n", "PID", "PROCESS", "FD", "ERR", "PATH");
}

syscall::open:entry
/$target == 0 || pid == $target/
{
	self->path = arg0;
}

syscall::openat:entry,
syscall::openat2:entry
/$target == 0 || pid == $target/
{
	self->path = arg1;
}

/* The path is read at the return: by then the kernel has brought its page into memory. */
syscall::open:return,
syscall::openat:return,
syscall::openat2:return
/self->path/
{
	printf("%7d %-16s %4d %4d %s\n", pid, execname, errno ? -1 : (int)arg0, errno,
	    copyinstr(self->path));
	self->path = 0;
}
