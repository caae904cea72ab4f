#!/usr/sbin/dtrace -s
/* Created files. */
#pragma D option quiet

syscall::creat:entry { printf("%s %s\n", execname, copyinstr(arg0)); }
syscall::openat:entry /arg2 & O_CREAT/ { printf("%s %s\n", execname, copyinstr(arg1)); }
