#!/usr/sbin/dtrace -s
/* The part of a program's reads that comes from the disk. */
#pragma D option quiet

inline string WHO = "dd";

syscall::read:return /execname == WHO && (int)arg0 > 0/ { @logical = sum(arg0); @n = count(); }
io:::start /execname == WHO && (args[0]->b_flags & B_READ)/ { @physical = sum(args[0]->b_bcount); }
dtrace:::END { printa("logical %@d bytes in %@d reads\n", @logical, @n); printa("physical %@d bytes\n", @physical); }
