BEGIN /if (x)/ { }
