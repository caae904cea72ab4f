BEGIN { trace(‘a’); }
