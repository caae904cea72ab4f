int a[void]; BEGIN { }
