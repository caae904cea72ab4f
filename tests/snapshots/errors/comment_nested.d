/* a /* b */ BEGIN { }
