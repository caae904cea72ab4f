BEGIN { trace("a\
b"); }
