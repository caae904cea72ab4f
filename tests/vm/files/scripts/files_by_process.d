#!/usr/sbin/dtrace -s
/* Files, as they are opened. */
syscall::open*:entry { printf("%s %s", execname, copyinstr(probefunc == "open" ? arg0 : arg1)); }
