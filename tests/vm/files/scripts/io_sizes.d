#!/usr/sbin/dtrace -s
/* The sizes of requests of disks, by process. */
#pragma D option quiet

dtrace:::BEGIN { printf("Tracing... Hit Ctrl-C to end.\n"); }
io:::start { @size[pid, curpsinfo->pr_psargs] = quantize(args[0]->b_bcount); }
dtrace:::END { printf("\n%8s  %s\n", "PID", "CMD"); printa("%8d  %s\n%@d\n", @size); }
