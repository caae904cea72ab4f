BEGIN { if () x; }
