#!/usr/sbin/dtrace -s
/* System calls, by program. */
syscall:::entry { @num[execname] = count(); }
