/* test: kernel */
fbt::after_pair:entry { trace(args[0]); }
