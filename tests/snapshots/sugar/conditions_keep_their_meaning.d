BEGIN /a ? b : c/ { if (x = 1) trace(1); else trace(2); if (y, z) trace(3); if (p || q) trace(4); if (p && q) trace(5); if (1) trace(6); }
