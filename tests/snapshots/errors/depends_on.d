#pragma D depends_on provider x
BEGIN { }
