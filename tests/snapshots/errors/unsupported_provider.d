provider p { probe x(); };
