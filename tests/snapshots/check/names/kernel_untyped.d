/* test: kernel */
BEGIN { trace(`untyped); }
