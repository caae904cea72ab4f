# 1 "script.d"
# 1 "/usr/include/c.h" 1 3 4
typedef short pid_t;
# 2 "script.d" 2
BEGIN { trace((pid_t)1); }
