struct never *p;
BEGIN { print(*p); }
