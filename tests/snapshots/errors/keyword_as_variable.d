BEGIN { string = 1; }
