BEGIN { (f + 1)(2); }
