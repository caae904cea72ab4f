x = 1;
BEGIN { }
