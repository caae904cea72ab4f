#!/usr/sbin/dtrace -s
/* Programs, as they begin. */
proc:::exec-success { trace(curpsinfo->pr_psargs); }
