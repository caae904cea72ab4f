BEGIN { trace(0); trace(1); if (x) { trace(2); trace(3); } trace(4); trace(5); }
