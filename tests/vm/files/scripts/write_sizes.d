#!/usr/sbin/dtrace -s
/* The sizes of writes, by process. */
sysinfo:::writech { @dist[execname] = quantize(arg0); }
