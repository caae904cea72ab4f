BEGIN { if (x) y; else }
