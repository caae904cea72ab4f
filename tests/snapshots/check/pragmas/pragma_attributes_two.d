#pragma D attributes Stable/Common x
int x; BEGIN { }
