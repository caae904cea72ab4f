BEGIN { (pid + 1)++; }
