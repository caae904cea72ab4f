/*
 * coverage.c: a program whose executed lines gcov and dtrace both record: loops, jump tables, recursion, callbacks,
 * calls that do not return, and jumps out of nested calls. With STRAIGHT, each call returns once.
 */
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef STRAIGHT
#define exit(status) ((void)(status))
#define longjmp(buffer, value) ((void)(buffer))
#undef setjmp
#define setjmp(buffer) 0
#define DIVISOR "2"
#else
#define DIVISOR "0"
#endif

struct node {
	struct node *left, *right;
	int key;
};

static struct node nodes[64];
static int used;
static jmp_buf again;
static int depth;

static inline int larger(int a, int b)
{
	if (a > b)
		return a;
	return b;
}

static struct node *insert(struct node *at, int key)
{
	if (!at) {
		struct node *new = &nodes[used++];

		new->key = key;
		return new;
	}
	if (key < at->key)
		at->left = insert(at->left, key);
	else if (key > at->key)
		at->right = insert(at->right, key);
	else
		depth = -1;
	return at;
}

static int height(const struct node *at)
{
	if (!at)
		return 0;
	return 1 + larger(height(at->left), height(at->right));
}

static int token(int c)
{
	switch (c) {
	case '0':
		return 10;
	case '1':
		return 11;
	case '2':
		return 12;
	case '3':
		return 13;
	case '4':
		return 14;
	case '5':
		return 15;
	case '+':
		return 1;
	case '-':
		return 2;
	case '*':
		return 3;
	case '/':
		return 4;
	default:
		return 0;
	}
}

static void fail(const char *why)
{
	printf("fail: %s\n", why);
	longjmp(again, 1);
	puts("not reached");
}

static int divide(int a, int b)
{
	if (b == 0)
		fail("division by zero");
	return a / b;
}

static int evaluate(const char *text)
{
	int value = 0, sign = 1, digit;
	char op = '+';

	for (; *text; text++) {
		digit = token(*text);
		if (digit >= 10) {
			digit -= 10;
			switch (op) {
			case '+':
				value += sign * digit;
				break;
			case '*':
				value *= digit;
				break;
			case '/':
				value = divide(value, digit);
				break;
			default:
				return -1;
			}
		} else if (digit == 1 || digit == 2) {
			sign = digit == 1 ? 1 : -1;
			op = '+';
		} else if (digit > 2) {
			op = *text;
		} else {
			goto bad;
		}
	}
	return value;
bad:
	printf("bad: %s\n", text);
	return -2;
}

static int compare(const void *a, const void *b)
{
	int x = *(const int *)a, y = *(const int *)b;

	if (x < y)
		return -1;
	if (x > y)
		return 1;
	return 0;
}

static void finish(int status)
{
	printf("finish %d\n", status);
	if (status)
		exit(status);
	puts("all is well");
}

static int unused(int x)
{
	while (x > 10)
		x /= 2;
	return x;
}

static int steps(unsigned n)
{
	int count = 0;

	do {
		if (n & 1)
			n = 3 * n + 1;
		else
			n >>= 1;
		count++;
	} while (n > 1 && count < 1000);
	return count;
}

int main(int argc, char **argv)
{
	int numbers[] = { 5, 3, 9, 1, 7 };
	struct node *root = NULL;
	unsigned at;

	for (at = 0; at < sizeof(numbers) / sizeof(*numbers); at++)
		root = insert(root, numbers[at]);
	printf("height %d\n", height(root));
	qsort(numbers, 5, sizeof(*numbers), compare);
	for (at = 0; at < 5; at++)
		printf("%d%c", numbers[at], at == 4 ? '\n' : ' ');
	if (setjmp(again)) {
		puts("again");
	} else {
		printf("%d\n", evaluate("1+2*3"));
		printf("%d\n", evaluate("5-2"));
		printf("%d\n", evaluate("1x"));
		printf("%d\n", evaluate("4/" DIVISOR));
		puts("not reached");
	}
	printf("steps %d\n", steps(27));
	if (argc > 2)
		printf("unused %d\n", unused(atoi(argv[2])));
	if (argc > 1 && strcmp(argv[1], "quietly") == 0)
		return 0;
	finish(argc > 1 ? atoi(argv[1]) : 3);
	puts("the end");
	return 0;
}
