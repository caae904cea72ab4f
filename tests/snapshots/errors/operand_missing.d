BEGIN { x = 1 + ; }
