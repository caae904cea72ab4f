BEGIN { printf("A\351B \303\251 \xff%%%s\n", "C\353D"); }
