int x[0]; BEGIN { }
