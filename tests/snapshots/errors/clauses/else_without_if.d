BEGIN { if (x) trace(1); trace(2); else trace(3); }
