BEGIN { sizeof(int; }
