/* test: -n */
other:::some
