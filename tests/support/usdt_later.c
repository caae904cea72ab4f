/* A library with its own copy of the static probes, and of their semaphores. */
#include "usdt.h"

#ifdef __cplusplus
extern "C"
#endif
__attribute__((visibility("default"))) void later(void)
{
	start(1000, "later");
	if (SHOP_IDLE_ENABLED()) {
		printf("P idle\n");
		SHOP_IDLE();
	}
}
