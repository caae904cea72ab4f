/* Aliases for tests/snapshots/aliases, of an imaginary system. Functions
 * called missing* do not exist. */
provider other {
	probe plain(uint64_t n) = "fbt::f:entry" (1);
	probe some(uint64_t n, int m) = "fbt::f:return" if (arg1 & 4) (arg0 + 1, arg1);
	probe several__places(uint64_t n) = "syscall::read:return", "syscall::readv:return" if (arg0 > 0) (arg0), "io:::start" (2);
	probe partly(uint64_t n) = "fbt::missing_a:entry", "fbt::here:entry" (1), "fbt::missing_b:return" (2);
	probe nowhere(uint64_t n) = "fbt::missing_c:entry", "fbt::missing_d:entry" (1);
	probe none(void) = "BEGIN" ();
	probe gone(uint64_t n) = "fbt::g:entry, for everything";
};
