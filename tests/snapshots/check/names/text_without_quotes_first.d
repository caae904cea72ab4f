BEGIN /sh == execname/ { trace(1); }
