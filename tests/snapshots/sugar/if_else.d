BEGIN { if (x) { trace(1); } else { trace(2); } trace(3); }
