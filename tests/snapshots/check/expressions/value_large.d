struct most { char a[0x7fffffff]; char b[0x7fffffff]; char c; }; BEGIN { trace(*(struct most *)curthread); trace(*(struct most (*)[3])curthread); }
