BEGIN { if (a) if (b) if (c) if (d) trace(1); }
