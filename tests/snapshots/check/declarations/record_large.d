struct big { char a[0x7fffffff][0x7fffffff][0x7fffffff]; }; BEGIN { }
