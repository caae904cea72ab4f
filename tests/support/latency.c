/*
 * Functions whose calls take time in known places. The program prints the nanoseconds of each call as it measures them
 * itself. Arguments: the number of calls, and the rounds of a loop in the ones that compute.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static volatile int sink;

static unsigned long long now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000000000ull + time.tv_nsec;
}

__attribute__((noinline)) static void stay(int us)
{
	struct timespec time = { 0, us * 1000l };

	nanosleep(&time, NULL);
}

__attribute__((noinline)) static void spin(int rounds)
{
	for (int n = 0; n < rounds; n++)
		__asm__ volatile("" ::: "memory");
}

/* Two of four calls compute, one of them four times as long. */
static inline __attribute__((always_inline)) int computes(int n, int rounds)
{
	int found = n;

	if (n % 4 == 1) {
		spin(rounds);
		found += 3;
	}
	if (n % 4 == 2) {
		spin(rounds / 4);
		found += 2;
	}
	sink = found;
	return found;
}

/* Each second call sleeps. */
static inline __attribute__((always_inline)) int sleeps(int n, int us)
{
	if (n & 1)
		stay(us);
	sink = n;
	return sink;
}

/* Branches leave it. */
static inline __attribute__((always_inline)) int find(const int *all, int count, int key)
{
	for (int n = 0; n < count; n++)
		if (all[n] == key)
			return n;
	return -1;
}

static inline __attribute__((always_inline)) int sign(int n)
{
	if (n > 0)
		return 1;
	if (n < 0)
		return -1;
	sink++;
	return 0;
}

__attribute__((noinline)) int once(int n, int rounds)
{
	return computes(n, rounds);
}

__attribute__((noinline)) int twice(int n, int rounds)
{
	return computes(n + 1, 2 * rounds) + 1;
}

__attribute__((noinline)) int longer(int n)
{
	return sleeps(n, 4000);
}

__attribute__((noinline)) int shorter(int n)
{
	return sleeps(n, 1000) + 1;
}

/* Each level sleeps before and after the nested call. */
__attribute__((noinline)) int deep(int levels)
{
	int below = 0;

	stay(1000);
	if (levels)
		below = deep(levels - 1);
	stay(1000);
	sink = below;
	return below + 1;
}

__attribute__((noinline)) int branches(const int *all, int n)
{
	if (find(all, 16, n % 20) >= 0)
		sink = n;
	if (sign(n % 11 - 5) > 0)
		return sink;
	sink = 4;
	if (sign(n % 11 - 2) < 0)
		return 9;
	return sign(n % 7 - 3) + sink;
}

static void *thread(void *sum)
{
	for (int n = 0; n < 10; n++)
		*(int *)sum += shorter(n) + longer(n);
	return NULL;
}

int main(int argc, char **argv)
{
	int calls = argc > 1 ? atoi(argv[1]) : 100, rounds = argc > 2 ? atoi(argv[2]) : 1000, sums[4] = { 0 }, all[16];
	unsigned long long spent[4] = { 0 }, begin, next;
	pthread_t threads[4];

	for (int n = 0; n < 16; n++)
		all[n] = n * 7 % 16;
	for (int n = 0; n < calls; n++) {
		begin = now();
		sums[0] += once(n, rounds);
		next = now();
		spent[0] += next - begin;
		sums[0] += twice(n, rounds);
		spent[1] += now() - next;
		sums[0] += branches(all, n);
	}
	for (int n = 0; n < 10; n++) {
		begin = now();
		sums[0] += deep(3);
		spent[2] += now() - begin;
	}
	for (int n = 0; n < 4; n++)
		pthread_create(threads + n, NULL, thread, sums + n);
	for (int n = 0; n < 4; n++)
		pthread_join(threads[n], NULL);
	for (int n = 0; n < 10; n++) {
		begin = now();
		sums[0] += longer(n);
		spent[3] += now() - begin;
	}
	printf("once %llu twice %llu deep %llu longer %llu\n", spent[0] / calls, spent[1] / calls, spent[2] / 10,
	       spent[3] / 10);
	return sums[0] + sums[1] + sums[2] + sums[3] == 0;
}
