#pragma D depends_on x
BEGIN { }
