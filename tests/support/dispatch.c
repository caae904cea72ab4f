// tests/support/dispatch.c: a machine whose switch has a jump table, and branches around code that is nothing but a jump.

#include <stdio.h>
#include <string.h>

static int depth, sum;

static int take(const char *program)
{
	int value = 0;
	for (const char *at = program; *at; at++) {
		switch (*at) {
		case 'a':
			value += 1;
			break;
		case 'b':
			if (value > 100) {
				value -= 100;
				if (value > 1000)
					value = 0;
			}
			break;
		case 'c':
			do {
				value *= 3;
				if (value > 50)
					break;
			} while (0);
			break;
		case 'd':
			if (depth)
				if (value == 3)
					depth--;
			break;
		case 'e':
			depth++;
			while (value > 7) {
				value -= 7;
				if (value == 11) {
					continue;
				}
			}
			break;
		case 'f':
			goto out;
		case 'g':
			sum += value;
			// falls through
		case 'h':
			value = 0;
			break;
		default:
			return -1;
		}
	}
out:
	return value;
}

int main(int argc, char **argv)
{
	const char *program = argc > 1 ? argv[1] : "aacbceahaccf";
	for (int round = 0; round < 3; round++)
		sum += take(program);
	printf("%d %d %zu\n", depth, sum, strlen(program));
	return 0;
}
