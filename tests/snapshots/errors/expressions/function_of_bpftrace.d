BEGIN { @ = hist(1); }
