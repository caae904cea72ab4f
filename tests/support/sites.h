/*
 * sites.h: the places where hits are counted, for tools that observe each instruction. A line is an address, or two for
 * the edge from one instruction to the other. `( START END` counts the calls of a function; `= ADDRESS` reads a number
 * of the program at the end, and `) START END [START END]` counts the calls that have ended, of a function whose second
 * range is its cold part: for step.c alone.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX 1048576

struct site {
	char kind; /* 0, or one of ( ) and = */
	unsigned long from, to;
	unsigned long cold, cold_end;
	unsigned long hits;
	int next; /* the next one with the same hash */
};
static struct site sites[MAX];
static int nsites, heads[MAX];

static unsigned hash(unsigned long address)
{
	return (address ^ address >> 16) % MAX;
}

/* The instruction at which the site is counted. */
static unsigned long end_of(const struct site *site)
{
	return site->to && !site->kind ? site->to : site->from;
}

static void read_sites(const char *name)
{
	FILE *f = fopen(name, "r");
	char line[100];

	if (!f)
		exit(2);
	while (fgets(line, sizeof(line), f)) {
		struct site *site = &sites[++nsites];
		unsigned h;

		if (nsites == MAX)
			exit(2);
		site->kind = strchr("()=", line[0]) ? line[0] : 0;
		sscanf(line + !!site->kind, "%lx %lx %lx %lx", &site->from, &site->to, &site->cold, &site->cold_end);
		if (site->kind == '=')
			continue;
		h = hash(end_of(site));
		site->next = heads[h];
		heads[h] = nsites;
	}
	fclose(f);
}

/* Whether the instruction is a call: e8, or ff /2, which may have a prefix for the register. */
static int is_call(const unsigned char *code)
{
	code += (code[0] & 0xf0) == 0x40;
	return code[0] == 0xe8 || (code[0] == 0xff && (code[1] >> 3 & 7) == 2);
}

/* Whether a transfer from one instruction to another hits the site, if the first one is not a call. */
static int hits(const struct site *site, unsigned long before, unsigned long at)
{
	if (site->kind)
		return site->from == at && (before < site->from || before >= site->to);
	if (site->to)
		return site->from == before && site->to == at;
	/* A repeated string instruction takes many steps. */
	return site->from == at && before != at;
}
