BEGIN { counter1 = 1; trace(countre1); }
