provider p { probe a__b(); probe a__b(int); }; BEGIN { }
