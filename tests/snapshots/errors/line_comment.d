// hello
BEGIN { }
