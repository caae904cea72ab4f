int x
