struct large { char a[0x7fffffff]; char b[0x7fffffff]; char c[2]; }; BEGIN { }
