struct o { int a; }; translator struct o < int v > { a = v; }; BEGIN { trace((pid ? xlate <struct o *>(1) : NULL) == NULL); }
