#pragma D option bufsiez=4m
BEGIN { x = ; }
