this int x[int]; BEGIN { }
