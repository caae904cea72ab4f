/* test: -n */
BEGIN { trace("abc) }
