/* cpu.c: prints the processor time of the program at its end, in nanoseconds, for `cargo xtask bench programs`. */
#include <stdio.h>
#include <time.h>

__attribute__((destructor)) static void ended(void)
{
	struct timespec time;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
	fprintf(stderr, "cpu %lld\n", time.tv_sec * 1000000000LL + time.tv_nsec);
}
