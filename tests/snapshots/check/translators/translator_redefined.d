struct o { int a; }; translator struct o < int v > { a = v; }; translator struct o < int w > { a = w; }; BEGIN { }
