BEGIN /int x/ { }
