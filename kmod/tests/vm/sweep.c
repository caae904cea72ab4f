// SPDX-License-Identifier: GPL-2.0
/*
 * sweep.c: arms every traceable instruction of all functions of the kernel,
 * batch by batch, while a workload runs.
 *
 *   sweep [OPTION]... -- COMMAND...
 *       --from ADDR      begin with the function at ADDR or after it
 *       --to ADDR        end before ADDR
 *       --batches N      at most N batches
 *       --size N         probes of a batch; a function is never split [15000]
 *       --sample N       every Nth function only
 *       --skip ADDR:TO   exclude the functions in [ADDR, TO) (may be repeated)
 *       --offsets LO:HI  of each function only the instructions in [LO, HI)
 *       --patience S     a batch whose command takes longer is too hot: it is disarmed, and swept again in
 *                        quarters, down to single functions, whose limit is twenty times as long [60]
 *       --modules        the functions of the loaded modules instead of the kernel's own
 *       --nojump         breakpoints only, no jumps in their place
 *       --once           remove each probe at its first hit
 *       --count          count each probe, to report how many fired; else the predicate is false
 *
 * For each batch: arm, run COMMAND, disarm, and compare the text with its
 * original state. Prints JSON lines: {"total":…} first, {"begin":…} before a batch is
 * armed, {"phase":…} and {"beat":…} during it, {"batch":…} after it, {"end":…}.
 * Exits with 1 if a command failed or the text was different, after all batches.
 */
#define _GNU_SOURCE
#include <getopt.h>
#include <poll.h>
#include <stdarg.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include "text.h"
#include "../image_builder.h"

#define VAR_EPID 0x0104
#define MAX_PROBES 524288
#define MAX_SKIP 256
#define MAX_NAMES 4096

static struct options {
	uint64_t from, to, skip[MAX_SKIP], skip_to[MAX_SKIP];
	uint32_t batches, size, sample, nskip, lo, hi;
	int modules, count, nojump, once;
	double patience;
	char **command;
} opt = { .to = UINT64_MAX, .batches = UINT32_MAX, .size = 15000, .sample = 1, .hi = UINT32_MAX, .patience = 60 };

static struct kinst_probe probes[MAX_PROBES];
static struct kinst_result results[MAX_PROBES];
static uint64_t hits[MAX_PROBES];
static int device;
static int faults;

struct batch {
	size_t first, last; /* functions */
	uint32_t functions, nprobes, armed, fired, jumps;
	uint64_t instructions, nested, hits, drops;
	uint64_t refused[KINST_R_MAX + 1]; /* instructions, by reason */
	uint64_t whole[KINST_R_MAX + 1]; /* functions */
	struct { const char *name; uint32_t reason; } names[MAX_NAMES]; /* of functions refused as a whole */
	uint32_t nnames;
	double read, arm, jump, run, disarm;
	char said[256]; /* output of the command */
	int status;
	int killed; /* the session, by the kernel */
	int slow; /* it was disarmed before the command had finished */
};

static struct symbol *list;
static size_t count;

/* ---- the original text ---- */

struct range {
	uint64_t start, end, sum;
	unsigned char *text;
};

static struct range ranges[256];
static size_t nranges;

/* Saves the bytes to compare: the kernel's text in one piece, and the ranges of modules that have functions. */
static void remember_text(void)
{
	size_t i;

	if (!opt.modules) {
		ranges[nranges++] = (struct range){ .start = address_of("_stext"), .end = address_of("_etext") };
	} else {
		for (i = 0; i < count; i++) {
			struct range *r = &ranges[nranges - 1];

			if (!nranges || list[i].addr - r->end > 4 * 4096) {
				if (nranges == 256)
					break;
				r = &ranges[nranges++];
				r->start = list[i].addr;
			}
			r->end = list[i].addr + 1;
		}
	}
	for (i = 0; i < nranges; i++) {
		ranges[i].text = read_text(ranges[i].start, ranges[i].end);
		ranges[i].sum = checksum(ranges[i].text, ranges[i].end - ranges[i].start);
	}
}

/* Whether the byte is part of an instruction that the kernel itself rewrites. */
static int is_rewritten(uint64_t addr)
{
	size_t lo = 0, hi = count;
	struct kinst_insns info;
	uint32_t i;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (list[mid].addr <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (!lo || live(device, list[lo - 1].addr, &info))
		return 0;
	for (i = 0; i < info.count; i++) {
		uint64_t at = list[lo - 1].addr + insns[i].offset;

		if (addr >= at && addr < at + insns[i].len)
			return insns[i].reason == KINST_R_JUMP_LABEL || insns[i].reason == KINST_R_STATIC_CALL ||
			       insns[i].reason == KINST_R_ALTERNATIVE || insns[i].reason == KINST_R_FTRACE;
	}
	return 0;
}

/* Compares the text, and updates the copy where the kernel has rewritten it. Returns the number of wrong bytes. */
static uint64_t compare_text(uint64_t *rewritten, uint64_t *first)
{
	uint64_t wrong = 0, i;
	size_t r;

	*rewritten = *first = 0;
	for (r = 0; r < nranges; r++) {
		uint64_t len = ranges[r].end - ranges[r].start;
		unsigned char *text = read_text(ranges[r].start, ranges[r].end);
		uint64_t before = *rewritten;

		for (i = 0; memcmp(text, ranges[r].text, len) && i < len; i++) {
			if (text[i] == ranges[r].text[i])
				continue;
			if (is_rewritten(ranges[r].start + i)) {
				++*rewritten;
				ranges[r].text[i] = text[i];
			} else if (!wrong++) {
				*first = ranges[r].start + i;
			}
			if (!memcmp(text + i + 1, ranges[r].text + i + 1, len - i - 1))
				break;
		}
		free(text);
		if (*rewritten != before)
			ranges[r].sum = checksum(ranges[r].text, len);
	}
	return wrong;
}

static uint64_t sum_text(void)
{
	uint64_t h = 0;
	size_t r;

	for (r = 0; r < nranges; r++)
		h = h * 31 + ranges[r].sum;
	return h;
}

/* ---- choosing ---- */

static int is_skipped(uint64_t addr)
{
	uint32_t i;

	for (i = 0; i < opt.nskip; i++)
		if (addr >= opt.skip[i] && addr < opt.skip_to[i])
			return 1;
	return 0;
}

static void refuse_whole(struct batch *b, const char *name, uint32_t reason)
{
	b->whole[reason]++;
	if (b->nnames < MAX_NAMES) {
		b->names[b->nnames].name = name;
		b->names[b->nnames++].reason = reason;
	}
}

/* Adds a function's probes to the batch; returns 0 if they do not fit. */
static int take(struct batch *b, size_t at, uint32_t size)
{
	uint32_t before = b->nprobes, i, blanket = KINST_R_MAX, differ = 0;
	uint64_t func = list[at].addr;
	struct kinst_insns info;
	uint32_t reason = live(device, func, &info);

	for (i = 0; !reason && i < info.count; i++) {
		if (insns[i].reason || insns[i].offset < opt.lo || insns[i].offset >= opt.hi)
			continue;
		if (b->nprobes == MAX_PROBES || (b->functions && b->nprobes == size)) {
			b->nprobes = before;
			return 0;
		}
		probes[b->nprobes] = (struct kinst_probe){ .id = b->nprobes + 1, .kind = KINST_P_INSN, .func = func,
							   .offset = insns[i].offset };
		b->nprobes++;
	}
	b->functions++;
	b->last = at;
	if (reason) {
		refuse_whole(b, list[at].name, reason < KINST_R_MAX ? reason : KINST_R_MAX - 1);
		return 1;
	}
	for (i = 0; i < info.count; i++) {
		uint32_t r = reason_of(&insns[i]);

		differ |= i && r != blanket;
		blanket = r;
		b->instructions++;
		if (insns[i].reason)
			b->refused[r]++;
	}
	if (info.count && !differ && (blanket == KINST_R_TRAP_PATH || blanket == KINST_R_BLACKLIST))
		refuse_whole(b, list[at].name, blanket);
	return 1;
}

/* Fills a batch of about size probes from function *next on; returns 0 if none are left. */
static int choose(struct batch *b, size_t *next, uint32_t size)
{
	double t0 = now();
	int any = 0;

	memset(b, 0, sizeof(*b));
	for (; *next < count && list[*next].addr < opt.to; ++*next) {
		if (list[*next].addr < opt.from || *next % opt.sample || is_skipped(list[*next].addr))
			continue;
		if (!any)
			b->first = *next;
		any = 1;
		if (!take(b, *next, size))
			break;
	}
	b->read = now() - t0;
	return any;
}

/* ---- a session ---- */

static void load(struct batch *b)
{
	struct kinst_load l = { 0 };
	uint32_t clause, i, key;
	struct ib ib;
	void *image;

	ib_init(&ib);
	if (opt.nojump)
		ib.h.flags |= KINST_IMAGE_NOJUMP;
	if (opt.once)
		ib.h.flags |= KINST_IMAGE_ONCE;
	if (opt.count) {
		ib.h.aggsize = (uint64_t)b->nprobes * 64 + 65536;
		key = ib_var_difo(&ib, VAR_EPID, T_INT(4));
		ib_act(&ib, KINST_ACT_DIFEXPR, key, 0);
		ib_agg(&ib, KINST_ACT_COUNT, 1, 1, KINST_NONE, 0);
		clause = ib_clause(&ib, KINST_NONE, 0);
	} else {
		ib_agg(&ib, KINST_ACT_COUNT, 1, 0, KINST_NONE, 0);
		clause = ib_clause(&ib, ib_const(&ib, 0, 4), 0);
	}
	ib_add(&ib, IB_PROBES, probes, b->nprobes);
	for (i = 0; i < b->nprobes; i++)
		ib_ecb(&ib, i, clause);
	image = ib_finish(&ib, &l.image_len);
	l.image = (uintptr_t)image;
	l.results = (uintptr_t)results;
	l.nresults = b->nprobes;
	if (ioctl(device, KINST_IOC_LOAD, &l)) {
		fprintf(stderr, "sweep: LOAD: %s, code %u difo %d index %d\n", strerror(errno), l.error.code,
			(int)l.error.difo, (int)l.error.index);
		exit(2);
	}
	free(image);
	for (i = 0; i < b->nprobes; i++) {
		b->armed += !results[i].reason;
		if (results[i].reason)
			b->refused[results[i].reason < KINST_R_MAX ? results[i].reason : KINST_R_MAX - 1]++;
	}
}

/* The number of sites that have a jump. The call waits until the optimizer has handled all of them. */
static uint32_t read_jumps(void)
{
	struct kinst_settled settled;

	if (ioctl(device, KINST_IOC_SETTLE, &settled))
		die("SETTLE");
	return settled.jumps;
}

/* Determines which probes fired: the key is the EPID, which is the probe's index + 1. */
static void read_counts(struct batch *b)
{
	uint32_t size = b->nprobes * 64 + 65536, cpu, at, i;
	struct kinst_info info;
	char *buf = malloc(size);

	if (ioctl(device, KINST_IOC_INFO, &info))
		die("INFO");
	memset(hits, 0, sizeof(*hits) * b->nprobes);
	for (cpu = 0; cpu < info.ncpus; cpu++) {
		struct kinst_aggsnap snap = { .buf = (uintptr_t)buf, .size = size, .cpu = cpu };

		if (ioctl(device, KINST_IOC_AGGSNAP, &snap))
			continue;
		b->drops += snap.drops;
		for (at = 0; at < snap.used;) {
			struct kinst_agg_entry *e = (void *)(buf + at);
			uint32_t epid;

			memcpy(&epid, e + 1, 4);
			if (epid >= 1 && epid <= b->nprobes)
				hits[epid - 1]++;
			at += e->len;
		}
	}
	for (i = 0; i < b->nprobes; i++)
		b->fired += hits[i] != 0;
	free(buf);
}

static void status(struct batch *b)
{
	struct kinst_status st;

	if (ioctl(device, KINST_IOC_STATUS, &st))
		die("STATUS");
	b->hits = st.hits;
	b->nested = st.nested;
	b->killed |= st.state == KINST_STATE_KILLED;
}

/* STOP leaves the places of a large session armed, but silent: they are disarmed when the device is closed. */
static void stop(struct batch *b)
{
	double t0 = now();

	printf("{\"phase\":\"disarm\"}\n");
	status(b);
	if (ioctl(device, KINST_IOC_STOP))
		die("STOP");
	status(b);
	if (opt.count)
		read_counts(b);
	close(device);
	device = -1;
	b->disarm = now() - t0;
}

/* Runs the command to its end. The session is killed unless its status is read regularly. */
static void run(struct batch *b)
{
	double t0 = now();
	int out[2];
	size_t len = 0;
	pid_t pid;

	if (pipe2(out, O_CLOEXEC))
		die("pipe");
	pid = fork();
	if (!pid) {
		setpriority(PRIO_PROCESS, 0, 0);
		dup2(out[1], 1);
		dup2(out[1], 2);
		execv(opt.command[0], opt.command);
		die(opt.command[0]);
	}
	close(out[1]);
	for (;;) {
		struct pollfd p = { .fd = out[0], .events = POLLIN };

		if (poll(&p, 1, 2000) > 0) {
			ssize_t n = read(out[0], b->said + len, sizeof(b->said) - 1 - len);

			if (n <= 0)
				break;
			len += n;
			continue;
		}
		if (!b->functions)
			continue;
		if (!b->slow)
			status(b);
		printf("{\"beat\":%.1f,\"hits\":%llu}\n", now() - t0, (unsigned long long)b->hits);
		if (!b->slow && now() - t0 > opt.patience * (b->functions > 1 ? 1 : 20)) {
			b->slow = 1;
			stop(b);
		}
	}
	close(out[0]);
	b->said[strcspn(b->said, "\n")] = '\0';
	if (waitpid(pid, &b->status, 0) != pid)
		b->status = -1;
	b->run = now() - t0;
}

/* ---- output ---- */

/* Also writes the batch to the kernel's log, so that later messages there can be attributed. */
static void __attribute__((format(printf, 1, 2))) log_line(const char *format, ...)
{
	int fd = open("/dev/kmsg", O_WRONLY);
	va_list args;

	va_start(args, format);
	if (fd >= 0) {
		vdprintf(fd, format, args);
		close(fd);
	}
	va_end(args);
}

static const char *json(const char *text)
{
	static char out[600];
	size_t n = 0;

	for (; *text && n < sizeof(out) - 3; text++) {
		if (*text == '"' || *text == '\\')
			out[n++] = '\\';
		out[n++] = *text < ' ' ? ' ' : *text;
	}
	out[n] = '\0';
	return out;
}

static void print_place(const char *key, const struct symbol *s)
{
	printf("\"%s\":\"%s%s%s\",\"%s_at\":\"%#llx\"", key, s->module, s->module[0] ? ":" : "", json(s->name), key,
	       (unsigned long long)s->addr);
}

static void print_reasons(const char *key, const uint64_t *by_reason)
{
	const char *comma = "";
	uint32_t i;

	printf(",\"%s\":{", key);
	for (i = 1; i <= KINST_R_MAX; i++) {
		if (!by_reason[i])
			continue;
		printf("%s\"%s\":%llu", comma, reason_name(i), (unsigned long long)by_reason[i]);
		comma = ",";
	}
	printf("}");
}

static void print_names(const struct batch *b)
{
	uint32_t i;

	printf(",\"names\":[");
	for (i = 0; i < b->nnames; i++)
		printf("%s[\"%s\",\"%s\"]", i ? "," : "", json(b->names[i].name), reason_name(b->names[i].reason));
	printf("]");
}

static void print_begin(const struct batch *b, uint32_t number)
{
	printf("{\"begin\":%u,", number);
	print_place("first", &list[b->first]);
	printf(",");
	print_place("last", &list[b->last]);
	printf(",\"functions\":%u,\"probes\":%u,\"reach\":%u}\n", b->functions, b->nprobes,
	       b->nprobes ? probes[b->nprobes - 1].offset + 1 : 0);
	log_line("sweep: batch %u, %s to %s", number, list[b->first].name, list[b->last].name);
}

static void print_batch(const struct batch *b, uint32_t number, size_t next)
{
	uint64_t rewritten, at, wrong = compare_text(&rewritten, &at);

	faults += wrong || b->status;
	printf("{\"batch\":%u,", number);
	print_place("first", &list[b->first]);
	printf(",");
	print_place("last", &list[b->last]);
	printf(",\"next_at\":\"%#llx\",\"next\":%zu,\"functions\":%u,\"instructions\":%llu,\"probes\":%u,\"armed\":%u,\"jumps\":%u,\"fired\":%u",
	       next < count && list[next].addr < opt.to ? (unsigned long long)list[next].addr : 0, next, b->functions, (unsigned long long)b->instructions,
	       b->nprobes, b->armed, b->jumps, b->fired);
	print_reasons("refused", b->refused);
	print_reasons("whole", b->whole);
	print_names(b);
	printf(",\"hits\":%llu,\"nested\":%llu,\"drops\":%llu,\"killed\":%s,\"slow\":%s,\"read_s\":%.2f,\"arm_s\":%.2f,\"jump_s\":%.2f,\"run_s\":%.2f,\"disarm_s\":%.2f",
	       (unsigned long long)b->hits, (unsigned long long)b->nested, (unsigned long long)b->drops,
	       b->killed ? "true" : "false", b->slow ? "true" : "false", b->read, b->arm, b->jump,
	       b->run, b->disarm);
	printf(",\"status\":%d,\"said\":\"%s\",\"wrong\":%llu,\"wrong_at\":\"%#llx\",\"rewritten\":%llu,\"sum\":\"%016llx\"}\n",
	       b->status, json(b->said), (unsigned long long)wrong, (unsigned long long)at,
	       (unsigned long long)rewritten, (unsigned long long)sum_text());
}

/* ---- the whole sweep ---- */

/* A load that was just killed may still hold all memory. */
static int open_device(void)
{
	int tries, fd;

	for (tries = 0; tries < 100; tries++) {
		fd = open(KINST_DEVICE, O_RDWR | O_CLOEXEC);
		if (fd >= 0 || errno != ENOMEM)
			break;
		usleep(100000);
	}
	if (fd < 0)
		die(KINST_DEVICE);
	return fd;
}

static void sweep_batch(struct batch *b, uint32_t number, size_t next)
{
	double t0;

	print_begin(b, number);
	device = open_device();
	t0 = now();
	load(b);
	b->arm = now() - t0;
	printf("{\"phase\":\"jumps\"}\n");
	t0 = now();
	b->jumps = read_jumps();
	b->jump = now() - t0;
	printf("{\"phase\":\"run\"}\n");
	t0 = now();
	if (ioctl(device, KINST_IOC_GO))
		die("GO");
	/* Probes that are removed at their first hit are armed now. */
	b->arm += now() - t0;
	run(b);
	if (!b->slow)
		stop(b);
	/* The module reports which bytes the kernel itself has rewritten. */
	device = open_device();
	print_batch(b, number, next);
}

static void sweep(void)
{
	static struct batch b;
	uint32_t number, size = opt.size;
	size_t next = 0, hot = 0;

	/* To get the CPU in competition with a hundred threads that keep trapping. */
	if (setpriority(PRIO_PROCESS, 0, -20))
		die("setpriority");
	device = open_device();
	printf("{\"total\":%zu,\"modules\":%d,\"size\":%u,\"sample\":%u}\n", count, opt.modules, opt.size, opt.sample);
	for (number = 0; number < opt.batches && choose(&b, &next, size); number++) {
		close(device);
		sweep_batch(&b, number, next);
		if (b.slow && b.functions > 1) {
			next = b.first;
			hot = b.last > hot ? b.last : hot;
			size = b.nprobes / 4;
		} else if (next > hot) {
			size = opt.size;
		}
	}
	printf("{\"end\":true,\"batches\":%u,\"faults\":%d}\n", number, faults);
}

static int parse(int argc, char **argv)
{
	static const struct option options[] = {
		{ "from", 1, NULL, 'f' }, { "to", 1, NULL, 't' }, { "batches", 1, NULL, 'b' }, { "size", 1, NULL, 's' },
		{ "sample", 1, NULL, 'n' }, { "skip", 1, NULL, 'x' }, { "offsets", 1, NULL, 'o' },
		{ "modules", 0, NULL, 'm' }, { "count", 0, NULL, 'c' },
		{ "nojump", 0, NULL, 'j' }, { "once", 0, NULL, '1' }, { "patience", 1, NULL, 'p' }, { NULL, 0, NULL, 0 },
	};
	char *end;
	int c;

	while ((c = getopt_long(argc, argv, "+", options, NULL)) != -1) {
		uint64_t v = optarg ? strtoull(optarg, &end, 0) : 0;

		switch (c) {
		case 'f': opt.from = v; break;
		case 't': opt.to = v; break;
		case 'b': opt.batches = v; break;
		case 's': opt.size = v < MAX_PROBES ? v : MAX_PROBES; break;
		case 'n': opt.sample = v ? v : 1; break;
		case 'x':
			if (opt.nskip == MAX_SKIP)
				return -1;
			opt.skip[opt.nskip] = v;
			opt.skip_to[opt.nskip++] = *end == ':' ? strtoull(end + 1, NULL, 0) : v + 1;
			break;
		case 'o':
			opt.lo = v;
			opt.hi = *end == ':' ? strtoull(end + 1, NULL, 0) : UINT32_MAX;
			break;
		case 'm': opt.modules = 1; break;
		case 'c': opt.count = 1; break;
		case 'j': opt.nojump = 1; break;
		case '1': opt.once = 1; break;
		case 'p': opt.patience = v; break;
		default: return -1;
		}
	}
	opt.command = argv + optind;
	return *opt.command ? 0 : -1;
}

int main(int argc, char **argv)
{
	static struct batch warm;

	if (parse(argc, argv)) {
		fprintf(stderr, "usage: see the source\n");
		return 2;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	read_symbols();
	list = functions(opt.modules, &count);
	/* Once without probes: the command flips its static keys now, and must succeed without us. */
	run(&warm);
	if (warm.status) {
		fprintf(stderr, "sweep: without any probe: %s\n", warm.said);
		return 2;
	}
	remember_text();
	sweep();
	return faults != 0;
}
