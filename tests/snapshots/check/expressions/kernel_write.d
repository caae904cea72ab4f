/* test: kernel */
BEGIN { `jiffies = 1; }
