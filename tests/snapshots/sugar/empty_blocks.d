BEGIN { if (a) { } if (b) ; else trace(1); if (c) { } else { } }
