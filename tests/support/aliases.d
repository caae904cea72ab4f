/* Aliases for tests/snapshots/aliases: those of a system that does not exist. */
provider other {
	probe plain(uint64_t n) = "fbt::f:entry" (1);
	probe some(uint64_t n, int m) = "fbt::f:return" if (arg1 & 4) (arg0 + 1, arg1);
	probe several__places(uint64_t n) = "syscall::read:return", "syscall::readv:return" if (arg0 > 0) (arg0), "io:::start" (2);
	probe none(void) = "BEGIN" ();
	probe gone(uint64_t n) = "fbt::g:entry, for everything";
};
