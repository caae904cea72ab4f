// SPDX-License-Identifier: GPL-2.0
/*
 * difrun.c: runs the kernel's verifier and interpreter on a program image and its
 * DIFOs in a simulated system.
 *
 *   kinst_difrun [OPTION...] [FILE]        the image is in FILE, or on standard input
 *
 * Options (numbers in C notation; defaults in mock.c):
 *   --fire              fire the probes instead of running clause by clause
 *   --max-insns N  --max-probes N
 *   --timestamp N  --vtimestamp N  --walltimestamp N  --curthread N  --cpu N
 *   --ipl N  --pid N  --tid N  --ppid N  --uid N  --gid N  --errno N  --caller N
 *   --stackdepth N  --ucaller N  --ustackdepth N  --rand N (the result of rand())
 *   --execname TEXT  --execargs TEXT
 *   --arg I=N           argI and args[I], I < 6; the others are 0
 *   --reg I=N  --ureg I=N
 *   --mem ADDR=HEX      bytes at an address (its pages are mapped, and zero elsewhere)
 *
 * Output. If the image is refused: one line, exit 1 (KINST_NONE is printed as "-"):
 *   refused code=9 difo=0 index=1
 * Otherwise "ok", exit 0, and without --fire for each clause, in order, in a fresh
 * ECB (scratch memory, strtok, epid = 1 + index of the first ECB of the clause or 0;
 * globals, clause-locals and dynamic variables persist from one to the next):
 *   clause 0
 *    predicate difo=3 RESULT
 *    action 0 kind=0x1 difo=4 RESULT      (index in the clause; actions without a DIFO are not shown)
 *    incr 2 difo=6 RESULT                 (of action 2)
 * A predicate that is 0 ends the clause, and so does a fault. RESULT is one of
 *   value=0x2a size=4          by value, the low bytes
 *   void                       size 0
 *   string="a\x01\"\\"         a string: at most size - 1 bytes; non-printable ASCII as \xNN
 *   bytes=00ff...              another value by reference
 *   fault=1 offset=8 value=0x10
 * An address in the machine's memory (scratch, variables, strings) differs from run to run.
 *
 * With --fire: BEGIN fires, then each probe outside the dtrace provider once in order, then END;
 * the output is what the consumer would get, in order:
 *   record epid=1 timestamp=1000000000 payload=HEX
 *   fault epid=1 action=2 offset=4 fault=1 value=0x10
 *   agg action=3 data=HEX      (key and value)
 *   state=5 exit=0 hits=2 errors=0 drops=0 dyndrops=0 aggdrops=0 dblerrors=0
 */
#define _GNU_SOURCE
#include <getopt.h>
#include <stdio.h>
#include <sys/mman.h>
#include "mock.h"

static u64 args[6];
static bool fire;
static struct kinst_limits limits = { .max_probes = 131072, .max_insns = 1 << 20 };

/* ---- options ---- */

static void die(const char *what)
{
	fprintf(stderr, "kinst_difrun: %s\n", what);
	exit(2);
}

static u64 number(const char *s)
{
	char *end;
	u64 v = strtoull(s, &end, 0);

	if (!*s || *end)
		die("not a number");
	return v;
}

/* Parses I=N into an array. */
static void indexed(const char *s, u64 *array, u64 n)
{
	char *end;
	u64 i = strtoull(s, &end, 0);

	if (*end != '=' || i >= n)
		die("expected INDEX=NUMBER");
	array[i] = number(end + 1);
}

static void map_memory(const char *s)
{
	char *end;
	u64 addr = strtoull(s, &end, 0), n, i, from, to;

	if (*end != '=' || strlen(end + 1) % 2)
		die("expected ADDR=HEX");
	n = strlen(end + 1) / 2;
	from = addr & ~4095ull;
	to = (addr + n + 4095) & ~4095ull;
	for (i = from; i < to; i += 4096)
		if (mmap((void *)i, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1,
			 0) == MAP_FAILED && errno != EEXIST)
			die("cannot map memory at the address");
	for (i = 0; i < n; i++) {
		unsigned int byte;

		if (sscanf(end + 1 + 2 * i, "%2x", &byte) != 1)
			die("expected ADDR=HEX");
		((u8 *)addr)[i] = byte;
	}
}

static const struct {
	const char *name;
	u64 *to;
} numbers[] = {
	{ "timestamp", &mock.timestamp }, { "vtimestamp", &mock.vtimestamp },
	{ "walltimestamp", &mock.walltimestamp }, { "curthread", &mock.curthread }, { "ipl", &mock.ipl },
	{ "pid", &mock.pid }, { "tid", &mock.tid }, { "ppid", &mock.ppid }, { "uid", &mock.uid },
	{ "gid", &mock.gid }, { "errno", &mock.errno_ }, { "caller", &mock.caller },
	{ "stackdepth", &mock.stackdepth }, { "ucaller", &mock.ucaller }, { "ustackdepth", &mock.ustackdepth },
	{ "rand", &mock.rand },
};

static void option(const char *name, const char *value)
{
	size_t i;

	for (i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		if (!strcmp(name, numbers[i].name)) {
			*numbers[i].to = number(value);
			return;
		}
	}
	if (!strcmp(name, "cpu"))
		mock.cpu = number(value) % 1024;
	else if (!strcmp(name, "max-insns"))
		limits.max_insns = number(value);
	else if (!strcmp(name, "max-probes"))
		limits.max_probes = number(value);
	else if (!strcmp(name, "execname"))
		mock.execname = value;
	else if (!strcmp(name, "execargs"))
		mock.execargs = value;
	else if (!strcmp(name, "arg"))
		indexed(value, args, 6);
	else if (!strcmp(name, "reg"))
		indexed(value, mock.regs, MOCK_NREGS);
	else if (!strcmp(name, "ureg"))
		indexed(value, mock.uregs, MOCK_NREGS);
	else if (!strcmp(name, "mem"))
		map_memory(value);
	else
		die("unknown option");
}

static const char *parse_options(int argc, char **argv)
{
	int i;

	for (i = 1; i < argc && !strncmp(argv[i], "--", 2); i++) {
		if (!strcmp(argv[i], "--fire")) {
			fire = true;
			continue;
		}
		if (i + 1 == argc)
			die("an option requires a value");
		option(argv[i] + 2, argv[i + 1]);
		i++;
	}
	return i < argc ? argv[i] : NULL;
}

static void *read_image(const char *path, size_t *len)
{
	FILE *f = path ? fopen(path, "rb") : stdin;
	char *mem = NULL;
	size_t room = 0, n;

	if (!f)
		die("cannot open the image");
	for (*len = 0;; *len += n) {
		if (room - *len < 65536)
			mem = realloc(mem, room = room * 2 + 65536);
		n = fread(mem + *len, 1, room - *len, f);
		if (!n)
			break;
	}
	if (path)
		fclose(f);
	return realloc(mem, *len ? *len : 1); /* so that the sanitizer sees a read beyond it */
}

/* ---- output ---- */

static void print_bytes(const char *name, const u8 *p, u64 n)
{
	u64 i;

	printf(" %s=", name);
	for (i = 0; i < n; i++)
		printf("%02x", p[i]);
}

static void print_string(const char *s, u64 n)
{
	u64 i;

	printf(" string=\"");
	for (i = 0; i < n; i++) {
		if (s[i] == '"' || s[i] == '\\')
			printf("\\%c", s[i]);
		else if (s[i] >= ' ' && s[i] <= '~')
			putchar(s[i]);
		else
			printf("\\x%02x", (u8)s[i]);
	}
	putchar('"');
}

static void print_none(const char *name, u32 v)
{
	if (v == KINST_NONE)
		printf(" %s=-", name);
	else
		printf(" %s=%u", name, v);
}

/* ---- clause by clause ---- */

/* Runs a DIFO and prints its result; false if it faulted. */
static bool show(struct kinst_ctx *c, u32 i, u64 *value)
{
	const struct kinst_dif *d = &c->prog->difos[i];
	const struct kinst_dtype *t = &d->rtype;
	u32 size = kinst_type_size(c->prog, t);
	u8 *mem = calloc(1, size + 1);
	u64 n = 0;

	printf(" difo=%u", i);
	c->fault_off = -1;
	*value = kinst_dif_run(c, d);
	if (!c->faulted && size && t->flags) {
		if (t->kind)
			n = kinst_load_str(c, (char *)mem, *value, size, t->flags & KINST_T_BYUREF);
		else
			kinst_load(c, mem, *value, size, t->flags & KINST_T_BYUREF);
	}
	if (c->faulted)
		printf(" fault=%u offset=%d value=0x%llx", c->fault, c->fault_off, (long long)c->fault_value);
	else if (!size)
		printf(" void");
	else if (!t->flags)
		printf(" value=0x%llx size=%u", (long long)(size == 8 ? *value : *value & ((1ull << 8 * size) - 1)), size);
	else if (t->kind)
		print_string((char *)mem, n);
	else
		print_bytes("bytes", mem, size);
	putchar('\n');
	free(mem);
	return !c->faulted;
}

static void run_clause(struct kinst_session *s, u32 ci)
{
	const struct kinst_prog *p = &s->prog;
	const struct kinst_cl *cl = &p->clauses[ci];
	struct kinst_vcpu *v = s->vcpus[mock.cpu];
	struct kinst_hit hit = { .nargs = 6, .fuel = KINST_HIT_FUEL };
	struct kinst_ctx *c = &v->ctx[0];
	u32 e, i;
	u64 value;

	for (e = 0; e < p->hdr->ecbs.count && p->ecbs[e].clause != ci; e++)
		;
	memcpy(hit.args, args, sizeof(args));
	*c = (struct kinst_ctx){
		.prog = p, .vars = &s->vars, .vcpu = v, .hit = &hit, .cpu = v->cpu,
		.probe = e < p->hdr->ecbs.count ? p->ecbs[e].probe : KINST_NONE,
		.epid = e < p->hdr->ecbs.count ? e + 1 : 0,
		.scratch = v->scratch, .scratch_next = v->scratch,
		.scratch_end = v->scratch + kinst_scratch_size(p), .fuel = KINST_FUEL,
	};
	printf("clause %u\n", ci);
	if (p->clause_table[ci].predicate != KINST_NONE) {
		printf(" predicate");
		if (!show(c, p->clause_table[ci].predicate, &value) || !value)
			return;
	}
	for (i = 0; i < cl->end - cl->acts; i++) {
		const struct kinst_action *a = &cl->acts[i].a;

		if (a->difo != KINST_NONE) {
			printf(" action %u kind=0x%x", i, a->kind);
			if (!show(c, a->difo, &value))
				return;
		}
		if (a->incr != KINST_NONE) {
			printf(" incr %u", i);
			if (!show(c, a->incr, &value))
				return;
		}
	}
}

/* ---- firing ---- */

static void fire_probe(struct kinst_session *s, u32 probe)
{
	struct kinst_hit hit = { .nargs = 6, .fuel = KINST_HIT_FUEL };

	if (probe == KINST_NONE)
		return;
	hit.kind = s->prog.probes[probe].kind;
	memcpy(hit.args, args, sizeof(args));
	kinst_run_probe(s, s->vcpus[mock.cpu], probe, &hit);
}

static void print_ring(struct kinst_ring *r)
{
	u64 pos = r->cons->pos, len;

	for (; pos < r->prod->pos; pos += len) {
		struct kinst_rec *rec = (struct kinst_rec *)(r->data + (pos & (r->size - 1)));
		struct kinst_fault *f = (struct kinst_fault *)(rec + 1);

		len = rec->len & KINST_REC_LEN;
		if (rec->len & KINST_REC_PAD)
			continue;
		if (rec->epid == KINST_EPID_FAULT) {
			printf("fault epid=%u action=%u offset=%d fault=%u value=0x%llx\n", f->epid, f->action, f->offset,
			       f->fault, (long long)f->value);
			continue;
		}
		printf("record epid=%u timestamp=%llu", rec->epid, (long long)rec->timestamp);
		print_bytes("payload", (u8 *)(rec + 1), len - sizeof(*rec));
		putchar('\n');
	}
}

static void fire_all(struct kinst_session *s)
{
	struct kinst_vcpu *v = s->vcpus[mock.cpu];
	struct kinst_dyncpu *d = &s->vars.cpus[mock.cpu];
	const struct kinst_agg_entry *e;
	struct kinst_agghalf *h;
	u64 pos = 0;
	u32 i;

	s->state = KINST_STATE_WARMUP;
	fire_probe(s, s->prog.begin);
	if (s->state == KINST_STATE_WARMUP)
		s->state = KINST_STATE_ACTIVE;
	for (i = 0; i < s->prog.hdr->probes.count; i++)
		if (s->prog.probes[i].kind >= KINST_P_INSN)
			fire_probe(s, i);
	s->state = KINST_STATE_COOLDOWN;
	fire_probe(s, s->prog.end);
	s->state = KINST_STATE_STOPPED;

	print_ring(&v->ring);
	h = kinst_agg_switch(&v->agg);
	while (v->agg.size && (e = kinst_agg_next(h, &pos))) {
		printf("agg action=%u", e->action);
		print_bytes("data", (u8 *)(e + 1), e->len - sizeof(*e));
		putchar('\n');
	}
	printf("state=%u exit=%d hits=%llu errors=%llu drops=%llu dyndrops=%llu aggdrops=%llu dblerrors=%llu\n", s->state,
	       s->exit_status, (long long)v->hits, (long long)v->ring.prod->errors, (long long)v->ring.prod->drops,
	       (long long)(d->drops + d->drops_dirty + d->drops_rinsing), (long long)v->agg.drops,
	       (long long)v->dblerrors);
}

int main(int argc, char **argv)
{
	const char *path = parse_options(argc, argv);
	struct kinst_session s = {};
	struct kinst_error err;
	size_t len;
	void *image = read_image(path, &len);
	u32 i;
	int ret;

	ret = kinst_image_parse(&s.prog, image, len, &limits, &err);
	if (ret == -EINVAL) {
		printf("refused code=%u", err.code);
		print_none("difo", err.difo);
		print_none("index", err.index);
		putchar('\n');
		free(image);
		return 1;
	}
	if (ret || kinst_session_bytes(&s.prog, 1, 1) > 1ull << 30 || kinst_session_alloc(&s, mock.cpu + 1))
		die("not enough memory");
	printf("ok\n");
	if (fire)
		fire_all(&s);
	else
		for (i = 0; i < s.prog.hdr->clauses.count; i++)
			run_clause(&s, i);
	kinst_session_free(&s);
	kinst_image_free(&s.prog);
	free(image);
	return 0;
}
