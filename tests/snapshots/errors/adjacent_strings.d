BEGIN { trace("a" "b"); }
