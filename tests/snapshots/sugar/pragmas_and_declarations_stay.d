#pragma D option quiet
int x;
BEGIN { if (x) exit(0); }
