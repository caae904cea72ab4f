/* test: args: one two */
BEGIN { trace($1); }
