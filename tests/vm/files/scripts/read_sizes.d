#!/usr/sbin/dtrace -s
/* The sizes of reads, by process. */
sysinfo:::readch { @dist[execname] = quantize(arg0); }
