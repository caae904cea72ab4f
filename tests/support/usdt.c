/* A program with static probes, which prints their arguments itself; the operand is a library that it opens later. */
#include <dlfcn.h>
#include <stdlib.h>
#include "usdt.h"

typedef enum { NEW = 3, OLD } order_mode_t;
struct order {
	long price;
	char name[8];
};

static long elements[8] = { 10, 11, 12, 13, 14, 15, 16, 17 };
static int numbers[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
static long global = 77;
static volatile unsigned long large = 0xfedcba9876543210;

static __attribute__((noinline)) void sizes(int i)
{
	signed char a = -1 - i;
	unsigned char b = 200 + i;
	short c = -300 - i;
	unsigned short d = 60000 + i;
	int e = -70000 - i;
	unsigned f = 4000000000u + i;
	long g = -5000000000 - i;
	unsigned long h = large + i;

	printf("P sizes %d %d %d %d %d %u %ld %lu\n", a, b, c, d, e, f, g, h);
	SHOP_SIZES(a, b, c, d, e, f, g, h);
}

static __attribute__((noinline)) void many(int a, int b, int c, int d, int e, int f, int g, int h)
{
	printf("P many %d %d %d %d %d %d %d %d %d %d %d %d\n", a, b, c, d, e, f, g, h, a + b, a * c, -7, d - e);
	SHOP_MANY(a, b, c, d, e, f, g, h, a + b, a * c, -7, d - e);
}

int main(int argc, char **argv)
{
	struct order order = { 5, "order" };
	char buffer[16] = "buffer";

	for (int i = 0; i < 4; i++) {
		start(-i, i % 2 ? "odd" : "even");
		if (SHOP_ORDER_DONE_ENABLED()) {
			printf("P done %d %ld %s %d %d\n", i % 2 ? OLD : NEW, order.price, order.name, 250 + i, i & 1);
			SHOP_ORDER_DONE(i % 2 ? OLD : NEW, &order, (unsigned char)(250 + i), i & 1);
		}
		order.price++;
		sizes(i);
		many(i, 2, 3 + i, 4, 5, -6 * i, 7, 8);
		printf("P element %ld %d\n", elements[i], numbers[i + 1]);
		SHOP_ELEMENT(elements[i], &numbers[i + 1]);
		start(global++, buffer);
	}
	SHOP_IDLE();
	if (argc > 1) {
		void *library = dlopen(argv[1], RTLD_NOW);
		void (*later)(void);

		*(void **)&later = dlsym(library, "later");
		later();
	}
	return 0;
}
