BEGIN { x ? y; }
