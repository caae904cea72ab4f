int x[]; BEGIN { }
