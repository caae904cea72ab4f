BEGIN /x/; END { }
