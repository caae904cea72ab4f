#!/usr/sbin/dtrace -s
/* Calls of a module's functions. */
#pragma D option quiet

fbt:virtio_console::entry { @calls[probemod, probefunc] = count(); }
dtrace:::END { printa("%-12s %-40s %@10d\n", @calls); }
