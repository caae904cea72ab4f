// SPDX-License-Identifier: GPL-2.0
/* swap.c: `swap FILE OLD NEW` writes NEW over the first OLD of the file; both have the same length. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
	FILE *f = argc == 4 && strlen(argv[2]) == strlen(argv[3]) ? fopen(argv[1], "r+b") : NULL;
	char *text, *found;
	long size;

	if (!f || fseek(f, 0, SEEK_END) || (size = ftell(f)) < 0 || !(text = malloc(size + 1)))
		return 2;
	rewind(f);
	if (fread(text, 1, size, f) != (size_t)size)
		return 2;
	found = memmem(text, size, argv[2], strlen(argv[2]));
	if (!found || fseek(f, found - text, SEEK_SET))
		return 1;
	return fwrite(argv[3], 1, strlen(argv[3]), f) != strlen(argv[3]) || fclose(f);
}
