BEGIN { x = (int); }
