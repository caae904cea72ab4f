/* xz.c: packs and unpacks with liblzma, with two match finders and filters before them. */
#include <lzma.h>

#include "text.h"

static uint8_t packed[2 * SIZE], unpacked[SIZE];

static void round_trip(uint32_t preset, lzma_vli first, lzma_check check)
{
	lzma_options_lzma options;
	lzma_options_delta delta = { .type = LZMA_DELTA_TYPE_BYTE, .dist = 3 };
	lzma_filter filters[] = { { first, first == LZMA_FILTER_DELTA ? &delta : NULL },
				  { LZMA_FILTER_LZMA2, &options },
				  { LZMA_VLI_UNKNOWN, NULL } };
	size_t size = 0, at = 0, back = 0;
	uint64_t memory = UINT64_MAX;

	lzma_lzma_preset(&options, preset);
	options.dict_size = 1 << 16;
	if (lzma_stream_buffer_encode(first ? filters : filters + 1, check, NULL, text, SIZE, packed, &size,
				      sizeof(packed)) != LZMA_OK)
		abort();
	printf("%u %lx: %zu %lx\n", preset, (unsigned long)first, size, sum(packed, size));
	if (lzma_stream_buffer_decode(&memory, 0, NULL, packed, &at, size, unpacked, &back, SIZE) != LZMA_OK)
		abort();
	same(unpacked, back);
}

int main(void)
{
	make_text();
	round_trip(0, 0, LZMA_CHECK_CRC32);
	round_trip(3, 0, LZMA_CHECK_CRC64);
	round_trip(6, LZMA_FILTER_X86, LZMA_CHECK_SHA256);
	round_trip(6, LZMA_FILTER_DELTA, LZMA_CHECK_NONE);
	return 0;
}
