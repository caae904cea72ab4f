/* hooks.c: counts the entries and exits of each function, for programs compiled with -finstrument-functions. */
#include <stdio.h>

#define PLAIN __attribute__((no_instrument_function))
#define FUNCTIONS 16384

static struct {
	void *function;
	unsigned long entered, left;
} counts[FUNCTIONS];

PLAIN static unsigned number(void *function)
{
	unsigned i = ((unsigned long)function >> 2) % FUNCTIONS;

	while (counts[i].function && counts[i].function != function)
		i = (i + 1) % FUNCTIONS;
	counts[i].function = function;
	return i;
}

PLAIN void __cyg_profile_func_enter(void *function, void *site)
{
	(void)site;
	counts[number(function)].entered++;
}

PLAIN void __cyg_profile_func_exit(void *function, void *site)
{
	(void)site;
	counts[number(function)].left++;
}

PLAIN __attribute__((destructor)) static void report(void)
{
	for (unsigned i = 0; i < FUNCTIONS; i++)
		if (counts[i].function)
			printf("@ %p %lu %lu\n", counts[i].function, counts[i].entered, counts[i].left);
}
