BEGIN { trace(sizeof (void)); x = ; }
