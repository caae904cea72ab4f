/* zstd.c: packs and unpacks with zstd, at levels of all strategies, with a dictionary and in pieces. */
#define ZSTD_STATIC_LINKING_ONLY
#include <zdict.h>
#include <zstd.h>

#include "text.h"

static char packed[2 * SIZE], unpacked[SIZE], dictionary[4000];

static void round_trip(int level)
{
	size_t size = ZSTD_compress(packed, sizeof(packed), text, SIZE, level);

	printf("%d: %zu %lx\n", level, size, sum(packed, size));
	same(unpacked, ZSTD_decompress(unpacked, SIZE, packed, size));
}

static void in_pieces(void)
{
	ZSTD_CCtx *out = ZSTD_createCCtx();
	ZSTD_DCtx *in = ZSTD_createDCtx();
	ZSTD_outBuffer to = { packed, sizeof(packed), 0 }, back = { unpacked, SIZE, 0 };
	ZSTD_inBuffer from;

	ZSTD_CCtx_setParameter(out, ZSTD_c_compressionLevel, 5);
	ZSTD_CCtx_setParameter(out, ZSTD_c_enableLongDistanceMatching, 1);
	ZSTD_CCtx_setParameter(out, ZSTD_c_checksumFlag, 1);
	for (size_t at = 0; at < SIZE; at += SIZE / 4) {
		from = (ZSTD_inBuffer){ text + at, SIZE / 4, 0 };
		while (from.pos < from.size)
			ZSTD_compressStream2(out, &to, &from, ZSTD_e_flush);
	}
	while (ZSTD_compressStream2(out, &to, &from, ZSTD_e_end))
		;
	printf("pieces: %zu %lx\n", to.pos, sum(packed, to.pos));
	for (size_t at = 0; at < to.pos; at += 999) {
		from = (ZSTD_inBuffer){ packed + at, to.pos - at < 999 ? to.pos - at : 999, 0 };
		while (from.pos < from.size)
			if (ZSTD_isError(ZSTD_decompressStream(in, &back, &from)))
				abort();
	}
	same(unpacked, back.pos);
	ZSTD_freeCCtx(out);
	ZSTD_freeDCtx(in);
}

static void with_dictionary(void)
{
	size_t sizes[100], size;
	ZSTD_CCtx *out = ZSTD_createCCtx();
	ZSTD_DCtx *in = ZSTD_createDCtx();

	for (int i = 0; i < 100; i++)
		sizes[i] = SIZE / 100;
	size = ZDICT_trainFromBuffer(dictionary, sizeof(dictionary), text, sizes, 100);
	if (ZDICT_isError(size))
		abort();
	for (int level = 1; level < 19; level += 4) {
		size_t some = ZSTD_compress_usingDict(out, packed, sizeof(packed), text, SIZE, dictionary, size, level);

		printf("dictionary %d: %zu %lx\n", level, some, sum(packed, some));
		same(unpacked, ZSTD_decompress_usingDict(in, unpacked, SIZE, packed, some, dictionary, size));
	}
	ZSTD_freeCCtx(out);
	ZSTD_freeDCtx(in);
}

int main(void)
{
	make_text();
	round_trip(-3);
	for (int level = 1; level <= 19; level += 3)
		round_trip(level);
	in_pieces();
	with_dictionary();
	return 0;
}
