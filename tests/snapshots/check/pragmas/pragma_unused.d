#pragma D attributes Stable/Stable/Common x
BEGIN { x = 1; }
