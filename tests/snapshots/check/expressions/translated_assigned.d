struct out { int m; };
translator struct out < int i > { m = i; };
BEGIN { x = 1; x = xlate <struct out>(3); }
