// SPDX-License-Identifier: GPL-2.0
/*
 * pairs.c: kprobes next to our probes, at random places in the whole kernel, in the guest.
 *
 *   pairs N [SEED [modules]]
 *
 * A pair is one of our places and a kprobe that the kernel accepts, or turns into
 * a jump, only because it cannot see the original bytes at our place:
 *
 *   branch   our probe hides a branch to T, and the kprobe's five bytes cover T
 *   before   the kprobe's five bytes cover our place
 *   middle   the kprobe is inside the instruction whose length our probe hides
 *
 *   pairs race ROUNDS [SEED]
 *
 * arms very many places, including pairs, while another process registers the
 * pairs' kprobes: some of these are being registered when our probes are armed.
 *
 * Half of the batches arm our places first; half register the kprobes first, and
 * a second one at the same address once our places are armed. Some of our probes are edges,
 * some breakpoints only. A pair is bad when the kernel has a kprobe in the middle
 * of an instruction, or a jump over the target of a branch or over our place; the
 * load that runs then would execute half of an instruction.
 */
#define _GNU_SOURCE
#include <sys/mount.h>
#include <sys/wait.h>
#include "text.h"
#include "../image_builder.h"

#define TRACEFS "/sys/kernel/tracing/"
#define BATCH 200
#define OPT_LEN 5 /* bytes that an optimised kprobe overwrites */

enum sort { BRANCH, BEFORE, MIDDLE, NSORTS };

static const char *const sorts[] = { "branch", "before", "middle" };

struct pair {
	enum sort sort;
	uint64_t func, site, kprobe;
	uint64_t target; /* must not be covered by the kprobe's jump */
	uint32_t to; /* offset of the target, for an edge */
	int accepted, again;
};

static struct pair pairs[BATCH];
static struct kinst_probe probes[BATCH];
static struct kinst_result results[BATCH];
static uint64_t seed = 1;

static struct {
	unsigned long pairs[NSORTS], refused[NSORTS], accepted[NSORTS], again, optimised, ours_refused, jumps, bad;
} total;

static uint64_t draw(uint64_t below)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (seed >> 11) % below;
}

/* ---- pairs ---- */

/* Whether instruction s and a kprobe at instruction k make a pair of this sort, which *p becomes. */
static int fits(enum sort sort, const struct kinst_insns *info, uint32_t s, uint32_t k, struct pair *p)
{
	const struct kinst_insn *ours = &insns[s], *theirs = &insns[k];
	int64_t to = leads_to(ours), reach;

	if (ours->reason || theirs->reason || !theirs->offset)
		return 0;
	*p = (struct pair){ .sort = sort, .func = info->func, .site = info->func + ours->offset,
			    .kprobe = info->func + theirs->offset, .to = to };
	switch (sort) {
	case BRANCH:
		reach = to - theirs->offset;
		p->target = info->func + to;
		return k != s && to > 0 && to < info->size && reach > 0 && reach < OPT_LEN;
	case BEFORE:
		reach = ours->offset - theirs->offset;
		p->target = p->site;
		return reach > 0 && reach < OPT_LEN;
	default:
		p->kprobe = p->site + 1 + draw(ours->len - 1 ?: 1);
		return k == s && ours->len > 1;
	}
}

static int find_pair(int device, enum sort sort, uint64_t func, struct pair *p)
{
	uint32_t tries, s, k, back;
	struct kinst_insns info;

	if (live(device, func, &info) || info.count < 4)
		return 0;
	for (tries = 0; tries < 400; tries++) {
		s = draw(info.count);
		if (sort == BRANCH) {
			int64_t to = leads_to(&insns[s]);

			if (to < 0)
				continue;
			for (k = 0; k < info.count && insns[k].offset < to; k++)
				if (to - insns[k].offset < OPT_LEN && fits(sort, &info, s, k, p))
					return 1;
			continue;
		}
		for (back = 0; back < OPT_LEN && back <= s; back++)
			if (fits(sort, &info, s, s - back, p))
				return 1;
	}
	return 0;
}

/* ---- our probes ---- */

static int arm(uint32_t n)
{
	struct kinst_load l = { 0 };
	uint32_t clause, i;
	struct ib b;
	int fd = open(KINST_DEVICE, O_RDWR | O_CLOEXEC);
	void *image;

	ib_init(&b);
	if (draw(3) == 0)
		b.h.flags |= KINST_IMAGE_NOJUMP;
	ib_agg(&b, KINST_ACT_COUNT, 1, 0, KINST_NONE, 0);
	clause = ib_clause(&b, KINST_NONE, 0);
	for (i = 0; i < n; i++) {
		probes[i] = (struct kinst_probe){ .kind = KINST_P_INSN, .func = pairs[i].func, .id = i + 1,
						  .offset = pairs[i].site - pairs[i].func };
		if (pairs[i].sort == BRANCH && draw(3) == 0) {
			probes[i].kind = KINST_P_EDGE;
			probes[i].to = pairs[i].to;
		}
		ib_add(&b, IB_PROBES, &probes[i], 1);
		ib_ecb(&b, i, clause);
	}
	image = ib_finish(&b, &l.image_len);
	l.image = (uintptr_t)image;
	l.results = (uintptr_t)results;
	l.nresults = n;
	if (fd < 0 || ioctl(fd, KINST_IOC_LOAD, &l) || ioctl(fd, KINST_IOC_GO))
		die("LOAD");
	free(image);
	for (i = 0; i < n; i++)
		total.ours_refused += !!results[i].reason;
	return fd;
}

/* ---- kprobes ---- */

static int write_to(const char *file, int flags, const char *text)
{
	int fd = open(file, O_WRONLY | flags), ok;

	if (fd < 0)
		die(file);
	ok = write(fd, text, strlen(text)) == (ssize_t)strlen(text);
	close(fd);
	return ok;
}

static int add_kprobe(const struct pair *p, uint32_t i, const char *which)
{
	char line[128];

	snprintf(line, sizeof(line), "p:pairs/%s%u 0x%llx\n", which, i, (unsigned long long)p->kprobe);
	return write_to(TRACEFS "kprobe_events", O_APPEND, line);
}

static void enable(int on)
{
	if (!access(TRACEFS "events/pairs/enable", F_OK))
		write_to(TRACEFS "events/pairs/enable", O_TRUNC, on ? "1" : "0");
}

/* Reads the text: the kernel's list also marks kprobes that wait for their jump and may not get it. */
static int is_jump(uint64_t at)
{
	unsigned char *text = read_text(at, at + 1);
	int jump = *text == 0xe9;

	free(text);
	return jump;
}

/* Determines the bad pairs from the kernel's list of kprobes. */
static void judge(uint32_t n, int ours)
{
	FILE *f = fopen("/sys/kernel/debug/kprobes/list", "r");
	char line[512];
	uint32_t i;

	if (!f)
		die("kprobes/list");
	while (fgets(line, sizeof(line), f)) {
		uint64_t at = strtoull(line, NULL, 16);
		int optimised = strstr(line, "[OPTIMIZED]") && is_jump(at);

		for (i = 0; i < n; i++) {
			const struct pair *p = &pairs[i];

			if (p->kprobe != at)
				continue;
			total.optimised += optimised;
			if (p->sort != MIDDLE && (!optimised || (p->sort == BEFORE && (!ours || results[i].reason))))
				continue;
			total.bad++;
			printf("bad: %s, our place at %#llx (reason %u), kprobe %s", sorts[p->sort],
			       (unsigned long long)p->site, results[i].reason, line);
		}
	}
	fclose(f);
}

static void load(void)
{
	static const char script[] = "for i in 1 2 3; do ls -R /sys/kernel/debug /proc/sys >/dev/null 2>&1; dmesg >/dev/null; "
		"cat /proc/self/smaps /proc/vmstat /proc/interrupts /proc/net/* >/dev/null 2>&1; "
		"sleep 0.01; (: | cat >/tmp/pairs.file; rm /tmp/pairs.file); done";
	int status = system(script);

	if (status == -1)
		die("sh");
}

/* ---- batches ---- */

static void theirs_on(uint32_t n)
{
	uint32_t i;

	for (i = 0; i < n; i++) {
		pairs[i].accepted = add_kprobe(&pairs[i], i, "a");
		if (pairs[i].accepted)
			total.accepted[pairs[i].sort]++;
		else
			total.refused[pairs[i].sort]++;
	}
	enable(1);
	usleep(200000); /* the kernel turns kprobes into jumps where it can */
}

static void theirs_off(void)
{
	enable(0);
	write_to(TRACEFS "kprobe_events", O_TRUNC, "\n");
}

static void batch_ours_first(uint32_t n)
{
	struct kinst_settled settled;
	int fd = arm(n);

	if (ioctl(fd, KINST_IOC_SETTLE, &settled))
		die("SETTLE");
	total.jumps += settled.jumps;
	theirs_on(n);
	judge(n, 1);
	load();
	theirs_off();
	close(fd);
}

static void batch_theirs_first(uint32_t n)
{
	uint32_t i;
	int fd;

	memset(results, 0, sizeof(results));
	theirs_on(n);
	fd = arm(n);
	for (i = 0; i < n; i++) {
		if (results[i].reason || !pairs[i].accepted)
			continue;
		pairs[i].again = add_kprobe(&pairs[i], i, "b");
		total.again += pairs[i].again;
	}
	enable(1);
	usleep(300000);
	judge(n, 1);
	load();
	close(fd);
	load();
	theirs_off();
}

/* ---- races ---- */

#define CROWD 8000 /* more places, so that arming takes a while */

static struct kinst_probe crowd[CROWD + BATCH];
static struct kinst_result crowd_results[CROWD + BATCH];

static int arm_crowd(uint32_t ncrowd, uint32_t n)
{
	struct kinst_load l = { 0 };
	uint32_t clause, i;
	struct ib b;
	int fd = open(KINST_DEVICE, O_RDWR | O_CLOEXEC);

	ib_init(&b);
	ib_agg(&b, KINST_ACT_COUNT, 1, 0, KINST_NONE, 0);
	clause = ib_clause(&b, KINST_NONE, 0);
	for (i = 0; i < n; i++)
		crowd[ncrowd + i] = (struct kinst_probe){ .kind = KINST_P_INSN, .func = pairs[i].func,
							  .offset = pairs[i].site - pairs[i].func };
	for (i = 0; i < ncrowd + n; i++) {
		crowd[i].id = i + 1;
		ib_add(&b, IB_PROBES, &crowd[i], 1);
		ib_ecb(&b, i, clause);
	}
	l.image = (uintptr_t)ib_finish(&b, &l.image_len);
	l.results = (uintptr_t)crowd_results;
	l.nresults = ncrowd + n;
	if (fd < 0 || ioctl(fd, KINST_IOC_LOAD, &l) || ioctl(fd, KINST_IOC_GO))
		die("LOAD");
	free((void *)(uintptr_t)l.image);
	memcpy(results, crowd_results + ncrowd, n * sizeof(*results));
	return fd;
}

static int race(int device, const struct symbol *list, size_t n, unsigned long rounds)
{
	unsigned long round, taken = 0, tries;
	uint32_t count, ncrowd, i, j;
	struct kinst_insns info;
	int fd, status;
	pid_t pid;

	for (round = 0; round < rounds; round++) {
		for (count = 0, tries = 0; count < 40 && tries < 20000; tries++) {
			uint64_t func = list[draw(n)].addr;

			for (i = 0; i < count && pairs[i].func != func; i++)
				;
			count += i == count && find_pair(device, BRANCH, func, &pairs[count]);
		}
		for (ncrowd = 0; ncrowd < CROWD;) {
			uint64_t func = list[draw(n)].addr;

			for (i = 0; i < count && pairs[i].func != func; i++)
				;
			if (i < count || live(device, func, &info))
				continue;
			for (j = 0; j < info.count && ncrowd < CROWD; j++)
				if (!insns[j].reason)
					crowd[ncrowd++] = (struct kinst_probe){ .kind = KINST_P_INSN, .func = func,
										.offset = insns[j].offset };
		}
		pid = fork();
		if (!pid) {
			for (i = 0, taken = 0; i < count; i++)
				taken += add_kprobe(&pairs[i], i, "a");
			enable(1);
			_exit(taken);
		}
		usleep(draw(30000));
		fd = arm_crowd(ncrowd, count);
		waitpid(pid, &status, 0);
		taken += WEXITSTATUS(status);
		sleep(1);
		judge(count, 1);
		theirs_off();
		close(fd);
	}
	printf("race: rounds %lu, kprobes taken %lu, bad %lu\n", rounds, taken, total.bad);
	return total.bad ? 1 : 0;
}

int main(int argc, char **argv)
{
	unsigned long wanted, done = 0, round = 0, i;
	struct symbol *list;
	size_t n, tries = 0;
	uint32_t count;
	int device;

	int racing = argc > 2 && !strcmp(argv[1], "race");

	argc -= racing;
	argv += racing;
	wanted = argc > 1 ? strtoul(argv[1], NULL, 0) : 0;
	if (argc > 2)
		seed = strtoull(argv[2], NULL, 0) ?: 1;
	mount("tracefs", TRACEFS, "tracefs", 0, NULL);
	mount("debugfs", "/sys/kernel/debug", "debugfs", 0, NULL);
	read_symbols();
	list = functions(argc > 3, &n);
	device = open(KINST_DEVICE, O_RDWR | O_CLOEXEC);
	if (device < 0 || !n)
		die(KINST_DEVICE);
	if (racing)
		return race(device, list, n, wanted);
	while (done < wanted && tries < wanted * 100) {
		for (count = 0; count < BATCH && done + count < wanted && tries < wanted * 100; tries++) {
			enum sort sort = draw(4) < 2 ? BRANCH : draw(2) ? BEFORE : MIDDLE;
			uint64_t func = list[draw(n)].addr;

			for (i = 0; i < count && pairs[i].func != func; i++)
				;
			if (i == count && find_pair(device, sort, func, &pairs[count]))
				total.pairs[pairs[count++].sort]++;
		}
		done += count;
		if (round++ & 1)
			batch_theirs_first(count);
		else
			batch_ours_first(count);
	}
	for (i = 0; i < NSORTS; i++)
		printf("%s: %lu pairs, kprobes refused %lu, taken %lu\n", sorts[i], total.pairs[i], total.refused[i],
		       total.accepted[i]);
	printf("our places refused %lu, our jumps %lu, jumps of kprobes %lu, second kprobes accepted %lu\n",
	       total.ours_refused, total.jumps, total.optimised, total.again);
	printf("pairs %lu, bad %lu\n", done, total.bad);
	return total.bad ? 1 : 0;
}
