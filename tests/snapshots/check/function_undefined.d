BEGIN { pritnf("%d", pid); }
