BEGIN { @a[1] = ; }
