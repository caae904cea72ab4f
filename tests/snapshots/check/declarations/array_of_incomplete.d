struct never n[4]; BEGIN { }
