BEGIN /x = {/ { }
