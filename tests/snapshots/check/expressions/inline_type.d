inline int n = "text"; BEGIN { }
