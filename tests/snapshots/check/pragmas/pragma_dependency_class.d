#pragma D depends_on modul e
BEGIN { }
