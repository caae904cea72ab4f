int a[int, ...]; BEGIN { }
