struct o { int a; }; translator struct o < int v > { a = v; }; BEGIN { trace(xlate <struct o *>(1)); }
