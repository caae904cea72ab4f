/* zlib.c: packs and unpacks with zlib, at several levels and strategies. */
#include <zlib.h>

#include "text.h"

static unsigned char packed[2 * SIZE], unpacked[SIZE];

static void round_trip(int level, int strategy, int bits)
{
	z_stream out = { 0 }, in = { 0 };

	if (deflateInit2(&out, level, Z_DEFLATED, bits, 8, strategy) != Z_OK)
		abort();
	out.next_in = text;
	out.next_out = packed;
	out.avail_out = sizeof(packed);
	for (size_t at = 0; at < SIZE; at += SIZE / 4) {
		out.avail_in = SIZE / 4;
		deflate(&out, at + SIZE / 4 < SIZE ? at ? Z_NO_FLUSH : Z_SYNC_FLUSH : Z_FINISH);
	}
	printf("%d %d %d: %lu %lx\n", level, strategy, bits, out.total_out, sum(packed, out.total_out));
	inflateInit2(&in, bits);
	in.next_in = packed;
	in.next_out = unpacked;
	/* Small pieces end in the middle of codes. */
	while (in.total_out < SIZE) {
		in.avail_in = in.total_in + 777 < out.total_out ? 777 : out.total_out - in.total_in;
		in.avail_out = SIZE - in.total_out < 3000 ? SIZE - in.total_out : 3000;
		if (inflate(&in, Z_NO_FLUSH) < 0)
			abort();
	}
	same(unpacked, in.total_out);
	deflateEnd(&out);
	inflateEnd(&in);
}

int main(void)
{
	uLongf size = sizeof(packed), back = SIZE;

	make_text();
	round_trip(1, Z_DEFAULT_STRATEGY, 15);
	round_trip(4, Z_DEFAULT_STRATEGY, 12);
	round_trip(6, Z_FILTERED, 15 + 16);
	round_trip(9, Z_DEFAULT_STRATEGY, -15);
	round_trip(6, Z_HUFFMAN_ONLY, 15);
	round_trip(6, Z_RLE, 15);
	round_trip(6, Z_FIXED, 15);
	round_trip(0, Z_DEFAULT_STRATEGY, 15);
	compress(packed, &size, text, SIZE);
	uncompress(unpacked, &back, packed, size);
	same(unpacked, back);
	printf("%lx %lx\n", crc32(0, text, SIZE), adler32(1, text, SIZE));
	return 0;
}
