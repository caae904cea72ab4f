provider p { probe a(); }; provider p { probe a(int); }; BEGIN { }
