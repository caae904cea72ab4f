BEGIN { int x; }
