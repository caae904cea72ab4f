/* test: kernel */
fbt::*r*:entry { trace(args[0]); }
