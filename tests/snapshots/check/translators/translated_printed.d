struct o { int a; }; translator struct o < int v > { a = v; }; BEGIN { print(xlate <struct o *>(1)); }
