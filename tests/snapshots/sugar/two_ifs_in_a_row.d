BEGIN { if (a) trace(1); if (b) trace(2); }
