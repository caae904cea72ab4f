/* The static probes of usdt.c, with types that only the program knows. */
#pragma D attributes Evolving/Evolving/Common provider shop provider

provider shop {
	probe order__start(int, const char *who);
	probe order__done(order_mode_t mode, struct order *, unsigned char, bool);
	probe sizes(signed char, unsigned char, short, unsigned short, int, unsigned, long, unsigned long);
	probe many(int a, int b, int c, int d, int e, int f, int g, int h, int i, int j, int k, int l);
	probe element(long, int *);
	probe idle();
};
