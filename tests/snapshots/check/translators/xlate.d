BEGIN { x = xlate <int>(pid); }
