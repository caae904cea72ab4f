/* test: args: sh */
BEGIN /execname == $1/ { trace(1); }
