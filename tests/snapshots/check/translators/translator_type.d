struct o { int a; }; translator struct o < int v > { a = "text"; }; BEGIN { }
