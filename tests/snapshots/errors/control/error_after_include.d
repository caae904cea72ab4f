#line 100 "gen.d"
BEGIN { x = ; }
