// SPDX-License-Identifier: GPL-2.0
/*
 * serve.c: the kernel module's verifier and interpreter, driven by differential.rs over a pipe.
 *
 * Requests on standard input until its end, with all numbers native u32:
 *   op (0 verify, 1 verify and run), times, max_probes, max_insns, image_len, the image
 * Answers on standard output:
 *   code, difo, index (struct kinst_error); if code is 0 and op is 1, after firing probe 0 `times` times:
 *   length and bytes of the ring, length and bytes of the aggregation entries, losses of any kind
 * It has the module's licence, as it is linked with the module's code.
 */
#include <stdio.h>
#include "mock.h"

static void answer(const void *p, size_t n)
{
	if (fwrite(p, 1, n, stdout) != n)
		exit(3);
}

static void number(u32 v)
{
	answer(&v, sizeof(v));
}

static void ring(struct kinst_ring *r)
{
	number(r->prod->pos); /* nothing was consumed, so it has not wrapped */
	answer(r->data, r->prod->pos);
}

static void aggregations(struct kinst_aggbuf *b)
{
	const struct kinst_agg_entry *e;
	struct kinst_agghalf *h;
	u64 pos = 0;
	u32 len = 0;

	if (!b->size) {
		number(0);
		return;
	}
	h = kinst_agg_switch(b);
	while ((e = kinst_agg_next(h, &pos)))
		len += e->len;
	number(len);
	for (pos = 0; (e = kinst_agg_next(h, &pos));)
		answer(e, e->len);
}

static void run(struct kinst_prog *prog, u32 times)
{
	struct kinst_session s = { .prog = *prog };
	struct kinst_dyncpu *d;
	struct kinst_vcpu *v;
	u32 i;

	if (kinst_session_alloc(&s, mock.cpu + 1))
		exit(4);
	v = s.vcpus[mock.cpu];
	d = &s.vars.cpus[mock.cpu];
	s.state = KINST_STATE_ACTIVE;
	for (i = 0; i < times; i++) {
		struct kinst_hit hit = {
			.kind = KINST_P_INSN,
			.fuel = KINST_HIT_FUEL,
			.nargs = 6,
			.args = { 1000, 1001, 1002, 1003, 1004, 1005 },
		};

		kinst_run_probe(&s, v, 0, &hit);
	}
	ring(&v->ring);
	aggregations(&v->agg);
	number(v->ring.prod->drops + v->agg.drops + d->drops + d->drops_dirty + d->drops_rinsing);
	*prog = s.prog;
	kinst_session_free(&s);
}

int main(void)
{
	u32 request[5]; /* op, times, max_probes, max_insns, image_len */

	while (fread(request, sizeof(request), 1, stdin) == 1) {
		struct kinst_limits limits = { .max_probes = request[2], .max_insns = request[3] };
		size_t len = request[4];
		void *image = malloc(len ? len : 1); /* of this size, so that the sanitizer detects reads beyond it */
		struct kinst_prog prog;
		struct kinst_error err;
		int ret;

		if (!image || fread(image, 1, len, stdin) != len)
			return 2;
		ret = kinst_image_parse(&prog, image, len, &limits, &err);
		if (ret && ret != -EINVAL)
			return 4;
		number(ret ? err.code : 0);
		number(err.difo);
		number(err.index);
		if (!ret && request[0])
			run(&prog, request[1]);
		if (!ret)
			kinst_image_free(&prog);
		free(image);
		fflush(stdout);
	}
	return 0;
}
