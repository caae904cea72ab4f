#!/usr/sbin/dtrace -s
/* Running processes, as shares of the samples. */
#pragma D option quiet
#pragma D option defaultargs

inline int RATE = $1 ? $1 : 100;
dtrace:::BEGIN { total = 0; }
profile:::profile-100 { @sample[pid, execname] = count(); total++; }
dtrace:::END { printa("%6d %-16s %@8d\n", @sample); printf("%d samples\n", total); }
