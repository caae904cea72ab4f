self:::x, int::int:, struct-1 { }
