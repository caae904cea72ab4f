#pragma D attributes x
BEGIN { }
