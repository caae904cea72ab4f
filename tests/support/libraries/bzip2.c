/* bzip2.c: packs and unpacks with bzip2, also the repetitive input that has a sort of its own. */
#include <bzlib.h>

#include "text.h"

static char packed[2 * SIZE], unpacked[SIZE];

/* libbz2 calls it when it finds a mistake of its own. */
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
