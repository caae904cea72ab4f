BEGIN { (int x; }
