// static.c: a program with static probes, which prints their arguments, and how often it found each enabled.
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "../../../src/usdt/usdt.h"

#define SEMAPHORE __attribute__((section(".probes"), visibility("hidden"), used)) volatile unsigned short

SEMAPHORE shop_order__start_semaphore;
SEMAPHORE shop_order__done_semaphore;

#define PROBE(name, a, b)                                                                          \
	do {                                                                                       \
		KINST_USDT_LET(1, a);                                                              \
		KINST_USDT_LET(2, b);                                                              \
		__asm__ volatile(KINST_USDT_NOTE(shop, name,                                       \
						 KINST_USDT_ARGUMENT(1) " " KINST_USDT_ARGUMENT(2)) \
				 ::KINST_USDT_OPERANDS(1), KINST_USDT_OPERANDS(2));                \
	} while (0)

static long total = 40;
static volatile int enabled;

static inline __attribute__((always_inline)) void start(int number, const char *who)
{
	PROBE(order__start, number, who);
}

int main(int argc, char **argv)
{
	int count = argc > 1 ? atoi(argv[1]) : 3;

	for (int i = 0; i < count; i++) {
		start(-i, argv[0]);
		if (shop_order__done_semaphore) {
			enabled++;
			PROBE(order__done, (unsigned char)(250 + i), total);
		}
		total++;
		start(1000 + i, argv[0]);
	}
	printf("enabled %d of %d\n", enabled, count);
	return 0;
}
