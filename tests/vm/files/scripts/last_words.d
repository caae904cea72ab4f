#!/usr/sbin/dtrace -s
/* The last system calls of a program. */
#pragma D option quiet
#pragma D option bufpolicy=ring
#pragma D option bufsize=16k
#pragma D option defaultargs

syscall:::entry /execname == $$1/ { printf("%d %d %s:%s %x %x\n", timestamp, pid, probefunc, probename, arg0, arg1); }
syscall:::return /execname == $$1/ { printf("%d %d %s:%s %d\n", timestamp, pid, probefunc, probename, errno); }
syscall::exit_group:entry /execname == $$1/ { exit(0); }
