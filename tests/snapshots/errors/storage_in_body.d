BEGIN { self int x; }
