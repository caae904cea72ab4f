BEGIN { trace( 1); }
