struct o { int apple; }; translator struct o < int v > { appel = v; }; BEGIN { }
