extern int f; extern long f; BEGIN { }
