/* The inlined function whose copies each have a static probe. */
#include <stdio.h>
#include "probes.h"

static inline __attribute__((always_inline)) void start(int number, const char *who)
{
	printf("P start %d %s\n", number, who);
	SHOP_ORDER_START(number, who);
}
