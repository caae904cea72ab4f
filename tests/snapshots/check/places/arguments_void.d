/* test: kernel */
fbt::after_pair:return { trace(args[0]); trace(args[1]); }
