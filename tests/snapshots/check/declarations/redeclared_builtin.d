int pid; BEGIN { }
