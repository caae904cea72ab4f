#!/usr/sbin/dtrace -s
/* Bytes read, by process. */
sysinfo:::readch { @bytes[execname] = sum(arg0); }
