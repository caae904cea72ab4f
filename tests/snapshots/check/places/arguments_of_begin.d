/* test: kernel */
BEGIN { trace(args[0]); }
