BEGIN { v = a[1]; }
BEGIN { a[1] = a[1] == "x" ? "y" : "z"; }
