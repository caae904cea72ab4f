BEGIN { prinft("x"); 3 3; }
