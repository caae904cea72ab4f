BEGIN { x === y; }
