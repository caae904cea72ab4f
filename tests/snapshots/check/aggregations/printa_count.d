BEGIN { printa("x"); }
