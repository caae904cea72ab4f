// SPDX-License-Identifier: GPL-2.0
/*
 * program/alloc.c: the working memory of a session's programs, all of it allocated before
 * anything is armed.
 *
 * Context: process.
 */
#include "program/alloc.h"
#include "program/spec.h"

static u64 vcpu_bytes(const struct kinst_prog *p)
{
	return sizeof(struct kinst_vcpu) + kinst_scratch_size(p) + p->block[SCOPE_LOCAL] + kinst_key_size(p) +
	       p->max_entry + 2 * (u64)p->strsize + p->bufsize + kinst_agg_bytes(p) + p->max_staged +
	       kinst_spec_bytes(p);
}

static u64 probe_bytes(const struct kinst_prog *p)
{
	bool once = p->hdr->flags & KINST_IMAGE_ONCE;
	u64 bytes = 0;
	u32 i;

	for (i = 0; i < p->hdr->probes.count; i++)
		bytes += once && kinst_is_insn(p->probes[i].kind) ? KINST_ONCE_BYTES : KINST_PROBE_BYTES;
	return bytes;
}

u64 kinst_session_bytes(const struct kinst_prog *p, u32 ncpus, u32 nnumbers)
{
	return kinst_image_bytes(p->hdr->len) + probe_bytes(p) +
	       kinst_vars_bytes(p, nnumbers) + nnumbers * sizeof(struct kinst_vcpu *) + ncpus * vcpu_bytes(p);
}

static void free_vcpu(struct kinst_vcpu *v)
{
	if (!v)
		return;
	kinst_spec_free(v);
	kinst_agg_free(&v->agg);
	kinst_ring_free(&v->ring);
	kvfree(v->str[1]);
	kvfree(v->str[0]);
	kvfree(v->staged);
	kvfree(v->entry);
	kvfree(v->key);
	kvfree(v->locals);
	kvfree(v->scratch);
	kvfree(v);
}

/* Sets the fields that are the same in all runs. */
static void prepare_ctx(struct kinst_session *s, struct kinst_vcpu *v, struct kinst_ctx *c)
{
	c->prog = &s->prog;
	c->session = s;
	c->vars = &s->vars;
	c->vcpu = v;
	c->cpu = v->cpu;
	c->scratch = v->scratch;
	c->scratch_end = v->scratch + kinst_scratch_size(&s->prog);
}

static struct kinst_vcpu *alloc_vcpu(struct kinst_session *s, u32 cpu)
{
	struct kinst_vcpu *v = kvzalloc(sizeof(*v), GFP_KERNEL_ACCOUNT);
	const struct kinst_prog *p = &s->prog;

	if (!v)
		return NULL;
	v->cpu = cpu;
	v->elsewhere = p->hdr->cpu != KINST_NONE && p->hdr->cpu != cpu;
	v->rand = kinst_env_seed();
	v->scratch = kvzalloc(kinst_scratch_size(p), GFP_KERNEL_ACCOUNT);
	v->locals = kvzalloc(p->block[SCOPE_LOCAL] + 8, GFP_KERNEL_ACCOUNT);
	v->key = kvzalloc(kinst_key_size(p), GFP_KERNEL_ACCOUNT);
	v->entry = kvzalloc(p->max_entry + 8, GFP_KERNEL_ACCOUNT);
	v->staged = kvzalloc(p->max_staged + 8, GFP_KERNEL_ACCOUNT);
	v->str[0] = kvzalloc(p->strsize, GFP_KERNEL_ACCOUNT);
	v->str[1] = kvzalloc(p->strsize, GFP_KERNEL_ACCOUNT);
	if (!v->scratch || !v->locals || !v->key || !v->entry || !v->staged || !v->str[0] || !v->str[1])
		goto fail;
	if (kinst_ring_alloc(&v->ring, p->bufsize, p->hdr->flags & KINST_IMAGE_RING) ||
	    kinst_agg_alloc(&v->agg, p) || kinst_spec_alloc(v, p))
		goto fail;
	prepare_ctx(s, v, &v->ctx[0]);
	prepare_ctx(s, v, &v->ctx[1]);
	return v;
fail:
	free_vcpu(v);
	return NULL;
}

int kinst_session_alloc(struct kinst_session *s, u32 ncpus)
{
	u32 cpu;
	int ret;

	ret = kinst_vars_alloc(&s->vars, &s->prog, ncpus);
	if (ret)
		return ret;
	s->ncpus = ncpus;
	s->vcpus = kvcalloc(ncpus, sizeof(*s->vcpus), GFP_KERNEL_ACCOUNT);
	if (!s->vcpus)
		goto fail;
	s->specs = kvcalloc(s->prog.hdr->nspec + 1, sizeof(*s->specs), GFP_KERNEL_ACCOUNT);
	if (!s->specs)
		goto fail;
	for (cpu = 0; cpu < ncpus; cpu++) {
		if (!cpu_possible(cpu))
			continue;
		s->vcpus[cpu] = alloc_vcpu(s, cpu);
		if (!s->vcpus[cpu])
			goto fail;
	}
	return 0;
fail:
	kinst_session_free(s);
	return -ENOMEM;
}

void kinst_session_free(struct kinst_session *s)
{
	u32 cpu;

	for (cpu = 0; s->vcpus && cpu < s->ncpus; cpu++)
		free_vcpu(s->vcpus[cpu]);
	kvfree(s->specs);
	s->specs = NULL;
	kvfree(s->vcpus);
	s->vcpus = NULL;
	kinst_vars_free(&s->vars);
}
