BEGIN { if (a) { trace(1); if (b) { trace(2); } else { trace(3); } trace(4); } else { trace(5); if (c) trace(6); } }
