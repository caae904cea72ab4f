inline int twice = nothing * 2;

BEGIN { x = ; }
