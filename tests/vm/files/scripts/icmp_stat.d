#!/usr/sbin/dtrace -s
/* ICMP messages. */
#pragma D option quiet

mib:::icmp* { @icmp[probename] = sum(arg0); }
dtrace:::END { printf("%25s %8s\n", "STATISTIC", "VALUE"); printa("%25s %@8d\n", @icmp); }
