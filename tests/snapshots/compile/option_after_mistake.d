int x;
string x;
#pragma D option nothing
BEGIN { }
