/* text.h: the input of the drivers: data that compresses like text, the same in each run. */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SIZE 40000

static unsigned char text[SIZE];

static inline unsigned drawn(void)
{
	static unsigned long long state = 0x9e3779b97f4a7c15;

	state = state * 6364136223846793005 + 1442695040888963407;
	return state >> 40;
}

/* Words of a small vocabulary, numbers, and a stretch of noise. */
static inline void make_text(void)
{
	static char words[64][12];
	size_t at = 0, i;

	for (i = 0; i < 64; i++)
		for (size_t n = 2 + drawn() % 9; n; n--)
			words[i][n - 1] = 'a' + drawn() % 26;
	while (at < SIZE - 40) {
		if (drawn() % 6)
			at += sprintf((char *)text + at, "%s ", words[drawn() % 64 & drawn()]);
		else
			at += sprintf((char *)text + at, "%u,\n", drawn() % 5000);
	}
	for (i = SIZE / 2; i < SIZE / 2 + SIZE / 16; i++)
		text[i] = drawn();
	memset(text + SIZE / 4, 'x', 700);
}

static inline unsigned long sum(const void *data, size_t size)
{
	const unsigned char *bytes = data;
	unsigned long sum = 5381;

	while (size--)
		sum = sum * 33 + *bytes++;
	return sum;
}

/* The unpacked data must equal the original. */
static inline void same(const void *data, size_t size)
{
	if (size != SIZE || memcmp(data, text, SIZE))
		abort();
}
