/* test: kernel */
BEGIN { trace(`nothing); }
