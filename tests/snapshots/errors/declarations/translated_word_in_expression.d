BEGIN { translator = 1; }
