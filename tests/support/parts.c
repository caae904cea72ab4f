/* tests/support/parts.c: a program whose functions have arguments of many types. It prints what it has counted; with an
 * argument, it goes on until it is killed. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct node {
	int key;
	struct node *next;
	const char *name;
};

union either {
	int whole;
	float part;
};

enum colour { RED, GREEN = 7, BLUE };

struct box {
	struct node node;
	union either either;
	enum colour colour;
	short numbers[4];
	unsigned int low : 3, high : 9;
};

static long calls, copies, keys, colours, thirds, bits, sums;

static inline __attribute__((always_inline)) int inner(struct node *node, int by)
{
	copies++;
	keys += node->key;
	__asm__ volatile("nop");
	return node->key + by;
}

__attribute__((noinline, noclone)) int helper(struct box *box, int number)
{
	calls++;
	int sum = inner(&box->node, number);
	if (number & 1)
		sum += inner(box->node.next, 2 * number);
	__asm__ volatile("nop" : : "r"(sum), "r"(box));
	sums += sum; /* line 45 */
	return sum;
}

int main(int argc, char **argv)
{
	(void)argv;
	for (int i = 0; i < 100 || argc > 1; i++) {
		struct node next = { 1000 + i, NULL, "next" };
		struct box box = { { i, &next, "first" }, { i }, i & 1 ? GREEN : BLUE, { 1, 2, (short)(3 * i), 4 }, 5, 300 };

		colours += box.colour;
		thirds += box.numbers[2];
		bits += box.low * 1000 + box.high;
		helper(&box, i);
		if (argc > 1)
			usleep(5000);
	}
	printf("%ld %ld %ld %ld %ld %ld %ld\n", calls, copies, keys, colours, thirds, bits, sums);
	return 0;
}
