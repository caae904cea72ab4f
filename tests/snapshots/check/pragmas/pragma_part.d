#pragma D attributes Stable/Stable/Common provider p argz
BEGIN { }
