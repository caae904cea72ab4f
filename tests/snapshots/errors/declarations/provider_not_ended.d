provider p { probe x(); }
