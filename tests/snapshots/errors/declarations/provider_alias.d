provider other {
	probe p(void) = "a:b:c:d:e" ();
};
