/* lz4.c: packs and unpacks with lz4, as blocks, streams and frames. */
#include <lz4.h>
#include <lz4frame.h>
#include <lz4hc.h>

#include "text.h"

static char packed[2 * SIZE], unpacked[SIZE];

static void show(const char *what, int level, size_t size)
{
	printf("%s %d: %zu %lx\n", what, level, size, sum(packed, size));
}

static void block(int size, const char *what, int level)
{
	show(what, level, size);
	same(unpacked, LZ4_decompress_safe(packed, unpacked, size, SIZE));
}

static void streamed(void)
{
	LZ4_stream_t *out = LZ4_createStream();
	LZ4_streamDecode_t *in = LZ4_createStreamDecode();
	const char *from = (const char *)text;

	for (int at = 0; at < SIZE; at += SIZE / 8) {
		int size = LZ4_compress_fast_continue(out, from + at, packed, SIZE / 8, sizeof(packed), 1);

		show("stream", at, size);
		LZ4_decompress_safe_continue(in, packed, unpacked + at, size, SIZE / 8);
	}
	same(unpacked, SIZE);
	LZ4_freeStream(out);
	LZ4_freeStreamDecode(in);
}

static void framed(int level)
{
	LZ4F_preferences_t as = { .compressionLevel = level,
				  .frameInfo = { .contentChecksumFlag = 1, .blockMode = LZ4F_blockLinked } };
	size_t size = LZ4F_compressFrame(packed, sizeof(packed), text, SIZE, &as), at = 0, done = 0;
	LZ4F_dctx *in;

	show("frame", level, size);
	LZ4F_createDecompressionContext(&in, LZ4F_VERSION);
	while (at < size) {
		size_t some = size - at < 500 ? size - at : 500, room = SIZE - done;

		if (LZ4F_isError(LZ4F_decompress(in, unpacked + done, &room, packed + at, &some, NULL)))
			abort();
		at += some;
		done += room;
	}
	same(unpacked, done);
	LZ4F_freeDecompressionContext(in);
}

int main(void)
{
	const char *from = (const char *)text;

	make_text();
	block(LZ4_compress_default(from, packed, SIZE, sizeof(packed)), "block", 0);
	block(LZ4_compress_fast(from, packed, SIZE, sizeof(packed), 9), "fast", 9);
	for (int level = 2; level <= 12; level += 3)
		block(LZ4_compress_HC(from, packed, SIZE, sizeof(packed), level), "high", level);
	streamed();
	framed(0);
	framed(9);
	return 0;
}
