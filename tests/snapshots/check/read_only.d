BEGIN { timestamp = 2; }
