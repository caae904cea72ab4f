BEGIN /x; y/ { }
