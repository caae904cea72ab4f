/* bzip2.c: packs and unpacks with bzip2, also repetitive input, which has a separate sorting algorithm. */
#include <bzlib.h>

#include "text.h"

static char packed[2 * SIZE], unpacked[SIZE];

/* Called by libbz2 on an internal error. */
void bz_internal_error(int code)
{
	printf("%d\n", code);
	abort();
}

static void round_trip(int level, int small)
{
	unsigned size = sizeof(packed), back = SIZE;

	if (BZ2_bzBuffToBuffCompress(packed, &size, (char *)text, SIZE, level, 0, 30) != BZ_OK)
		abort();
	printf("%d: %u %lx\n", level, size, sum(packed, size));
	if (BZ2_bzBuffToBuffDecompress(unpacked, &back, packed, size, small, 0) != BZ_OK)
		abort();
	same(unpacked, back);
}

int main(void)
{
	make_text();
	round_trip(1, 0);
	round_trip(9, 1);
	for (int i = 0; i < SIZE; i++)
		text[i] = "abcabd"[i % 6];
	round_trip(1, 0);
	return 0;
}
