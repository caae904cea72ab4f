#pragma D depends_on library errno.d
BEGIN { }
