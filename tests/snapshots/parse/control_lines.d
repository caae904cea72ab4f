#!/usr/sbin/dtrace -s
#pragma D option quiet
  #  pragma D option bufsize=4m
#
#pragma
#pragma D
#pragma once
#ident "x"
# 1 "file.d" 1
#line 5 "other.d"
BEGIN
{
#pragma D option strsize=100
	trace(1);
# 77
}
#pragma D option destructive
