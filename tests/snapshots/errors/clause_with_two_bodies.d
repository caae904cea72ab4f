BEGIN { } { }
