struct o { int a; int b; }; translator struct o < int v > { a = v; }; BEGIN { trace(xlate <struct o>(1).b); }
