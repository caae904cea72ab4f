translator int < int > { };
