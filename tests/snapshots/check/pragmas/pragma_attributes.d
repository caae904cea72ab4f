#pragma D attributes Stable/Foo/Common x
int x; BEGIN { }
