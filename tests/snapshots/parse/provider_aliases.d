provider other {
	probe plain(uint64_t n) : (int n);
	probe some(uint64_t n, int m) = "fbt::f:return" if (arg1 & 4) (arg0 + 1, arg1);
	probe several__places(uint64_t n) = "syscall::read:return", "readv:return" if (arg0 > 0) (arg0), "io:::start" (2);
	probe gone(void) = "a \"text\"";
};
