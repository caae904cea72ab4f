struct o { int a; }; translator struct o < int v > { a = v; }; BEGIN { x = (xlate <struct o *>(1), 1); }
