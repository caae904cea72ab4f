BEGIN { p = (int *)arg0; trace(p[1, 2]); }
