BEGIN { @ = count(); @ = sum(1); }
