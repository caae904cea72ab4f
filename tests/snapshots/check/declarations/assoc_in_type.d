int x[int][int]; BEGIN { }
