struct pair { int low; int high; } kept;
BEGIN { kept = 0; }
