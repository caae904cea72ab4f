int x[...];
BEGIN { }
