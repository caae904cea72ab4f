profile-97 { print(locals); }
