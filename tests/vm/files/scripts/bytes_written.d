#!/usr/sbin/dtrace -s
/* Bytes written, by process. */
sysinfo:::writech { @bytes[execname] = sum(arg0); }
