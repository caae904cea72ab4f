// SPDX-License-Identifier: GPL-2.0
/*
 * starved.c: sessions whose allocations fail (injected by starve.ko), in the guest.
 *
 *   starved N <NAMES      probes of every kind on the functions named on standard input
 *
 * A session is opened, loaded, run and ended; each time another one of its allocations fails, and then N times each
 * fails at random. LOAD must report that it is out of memory, or that probes are refused; the kernel's log and text
 * show whether everything was undone.
 */
#define _GNU_SOURCE
#include "text.h"
#include "../image_builder.h"

#define MAX_PROBES 4096
#define PARAMETERS "/sys/module/starve/parameters/"

static struct kinst_probe probes[MAX_PROBES];
static struct kinst_result results[MAX_PROBES];
static uint32_t nprobes;
static unsigned long refused_loads, refused_probes, whole;
static int nth, one_in;

static void add(uint64_t func, uint32_t kind, uint32_t offset)
{
	if (nprobes == MAX_PROBES)
		return;
	probes[nprobes] = (struct kinst_probe){ .kind = kind, .func = func, .offset = offset, .id = nprobes + 1 };
	nprobes++;
}

static void read_names(int device)
{
	struct kinst_insns info;
	char line[512];
	uint32_t i, n = 0;

	while (fgets(line, sizeof(line), stdin)) {
		uint64_t func;

		line[strcspn(line, "\n")] = '\0';
		func = address_of(line);
		if (!func || live(device, func, &info))
			continue;
		/* More entries than ftrace takes at once, and little else: each allocation takes another session. */
		add(func, KINST_P_FBT_ENTRY, 0);
		if (n++ % 16)
			continue;
		add(func, KINST_P_FBT_RETURN, 0);
		for (i = 1; i < info.count; i += 1 + info.count / 4)
			if (!insns[i].reason)
				add(func, KINST_P_INSN, insns[i].offset);
	}
}

static void *make_image(uint32_t *len)
{
	uint32_t clause, i;
	struct ib b;

	ib_init(&b);
	ib_act(&b, KINST_ACT_DIFEXPR, ib_var_difo(&b, 0x0104, T_INT(4)), 0);
	ib_agg(&b, KINST_ACT_COUNT, 1, 1, KINST_NONE, 0);
	clause = ib_clause(&b, KINST_NONE, 0);
	for (i = 0; i < nprobes; i++) {
		ib_add(&b, IB_PROBES, &probes[i], 1);
		ib_ecb(&b, i, clause);
	}
	return ib_finish(&b, len);
}

static void set(int parameter, unsigned long n)
{
	char text[24];
	int len = snprintf(text, sizeof(text), "%lu\n", n);

	if (pwrite(parameter, text, len, 0) != len)
		die("a parameter of starve");
}

static unsigned long get(const char *parameter)
{
	FILE *f = fopen(parameter, "r");
	unsigned long n;

	if (!f || fscanf(f, "%lu", &n) != 1)
		die(parameter);
	fclose(f);
	return n;
}

static void session(void *image, uint32_t len, int parameter, unsigned long n)
{
	struct kinst_load l = {
		.image = (uintptr_t)image, .image_len = len, .results = (uintptr_t)results, .nresults = nprobes,
	};
	int device = open(KINST_DEVICE, O_RDWR | O_CLOEXEC), ret;
	uint32_t i;

	if (device < 0)
		die(KINST_DEVICE);
	memset(results, 0, sizeof(results));
	set(parameter, n);
	ret = ioctl(device, KINST_IOC_LOAD, &l);
	if (ret && errno != ENOMEM)
		die("LOAD");
	if (!ret) {
		for (i = 0; i < nprobes; i++)
			refused_probes += results[i].reason != 0;
		if (ioctl(device, KINST_IOC_GO) && errno != ENOMEM)
			die("GO");
		if (ioctl(device, KINST_IOC_STOP) && errno != ENOMEM)
			die("STOP");
	}
	refused_loads += ret != 0;
	whole += !ret;
	close(device);
}

/* Fails each allocation of a whole session in turn, but only some of the many made per probe. */
static void one_by_one(void *image, uint32_t len)
{
	unsigned long n, rounds = 0;

	for (n = 1;; n += 1 + n / 32, rounds++) {
		session(image, len, nth, n);
		if (!get(PARAMETERS "failed"))
			break;
	}
	printf("one by one: %lu of some %lu allocations, ended %lu, went on %lu, probes refused %lu\n", rounds, n, refused_loads,
	       whole, refused_probes);
}

static void by_chance(void *image, uint32_t len, unsigned long times)
{
	unsigned long n, failed = 0;

	refused_loads = refused_probes = whole = 0;
	for (n = 0; n < times; n++) {
		session(image, len, one_in, 2 + n % 97);
		failed += get(PARAMETERS "failed");
	}
	printf("by chance: %lu sessions, allocations failed %lu, ended %lu, went on %lu, probes refused %lu\n", times, failed,
	       refused_loads, whole, refused_probes);
}

static const struct symbol *symbol_of(uint64_t addr)
{
	const struct symbol *best = &symbols[1];
	size_t i;

	for (i = 1; i <= nsymbols; i++)
		if (symbols[i].addr <= addr && (symbols[i].addr > best->addr || best->addr > addr))
			best = &symbols[i];
	return best;
}

static void compare(const unsigned char *before, uint64_t start, uint64_t end)
{
	unsigned char *after = read_text(start, end);
	uint64_t i;

	for (i = 0; i < end - start; i++) {
		const struct symbol *s;

		if (before[i] == after[i])
			continue;
		s = symbol_of(start + i);
		printf("text differs at %s+%#llx: %02x %02x\n", s->name, (unsigned long long)(start + i - s->addr), before[i],
		       after[i]);
	}
	free(after);
}

int main(int argc, char **argv)
{
	int device = open(KINST_DEVICE, O_RDWR | O_CLOEXEC);
	uint64_t start, end;
	unsigned char *text;
	uint32_t len;
	void *image;

	nth = open(PARAMETERS "nth", O_WRONLY | O_CLOEXEC);
	one_in = open(PARAMETERS "one_in", O_WRONLY | O_CLOEXEC);
	if (argc != 2 || device < 0 || nth < 0 || one_in < 0)
		die("usage: starved N, with kinst and starve loaded");
	setvbuf(stdout, NULL, _IOLBF, 0);
	read_symbols();
	read_names(device);
	close(device);
	image = make_image(&len);
	start = address_of("_stext");
	end = address_of("_etext");
	text = read_text(start, end);
	printf("probes %u\n", nprobes);
	one_by_one(image, len);
	by_chance(image, len, strtoul(argv[1], NULL, 0));
	compare(text, start, end);
	return 0;
}
