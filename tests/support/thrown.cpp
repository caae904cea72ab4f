/*
 * thrown.cpp: exceptions that leave functions and copies, which count themselves. It prints how often an exception of
 * another function leaves plain(), and then `@ PID`, and the entries and returns of copy() and of plain().
 */
#include <cstdio>
#include <string>
#include <unistd.h>

#define COUNT(counter) __asm__ volatile("incq %0" : "+m"(counter))

static unsigned long entered[2], left[2];
static volatile unsigned sink = 3;

static inline __attribute__((always_inline)) unsigned copy(unsigned a)
{
	COUNT(entered[0]);
	if (a % 5 == 2)
		throw a;
	a = a * 3 + sink;
	COUNT(left[0]);
	return a;
}

static unsigned passed;

__attribute__((noinline)) static unsigned other(unsigned a)
{
	if (a % 7 == 3) {
		passed++;
		throw a;
	}
	return a + sink;
}

__attribute__((noinline)) static unsigned plain(unsigned a)
{
	COUNT(entered[1]);
	/* Its destructor is executed on the way of an exception. */
	std::string text(a % 50 + 1, 'x');
	a = other(a) - sink;
	a = copy(a) + text.size();
	if (a % 3 == 1)
		a += copy(a >> 1);
	COUNT(left[1]);
	return a;
}

int main()
{
	for (unsigned i = 0; i < 200; i++) {
		try {
			sink += plain(i) & 1;
			sink += copy(i) & 1;
		} catch (unsigned thrown) {
			sink += thrown & 1;
		}
	}
	std::printf("%u\n@ %d %lu %lu %lu %lu\n", passed, getpid(), entered[0], left[0], entered[1], left[1]);
	return 0;
}
