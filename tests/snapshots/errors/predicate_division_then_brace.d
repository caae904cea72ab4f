BEGIN /x / {y}/ { }
