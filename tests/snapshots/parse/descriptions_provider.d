/* test: -P */
fbt,kinst
