#pragma D attributes Stable/Stable/Common x
BEGIN { }
