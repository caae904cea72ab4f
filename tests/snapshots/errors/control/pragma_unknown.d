#pragma D optoin quiet
BEGIN { }
