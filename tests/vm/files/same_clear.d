#pragma D option quiet
#pragma D option aggrate=20ms
BEGIN { @min = min(5); @max = max(50); @c = count(); @k["a"] = max(1); @k["b"] = max(2); @k["c"] = max(3); @q = quantize(3); }
tick-100ms { n++; }
tick-100ms /n == 1/ { printa("%@d %@d %@d\n", @min, @max, @c); printa("%s %@d\n", @k); clear(@min); clear(@max); clear(@c); trunc(@k, 1); trunc(@q); }
tick-100ms /n == 6/ { printa("%@d %@d %@d\n", @min, @max, @c); @min = min(7); @max = max(40); @k["a"] = max(-1); @q = quantize(100); }
tick-100ms /n == 11/ { printa("%@d %@d %@d\n", @min, @max, @c); printa("%s %@d\n", @k); printa(@q); trunc(@k); }
tick-100ms /n == 16/ { printa("%s %@d\n", @k); exit(0); }
