// SPDX-License-Identifier: GPL-2.0
/*
 * program/vars.c: global, clause-local, thread-local variables and associative arrays.
 *
 * Dynamic variables are looked up in a hash whose buckets have a lock each.
 * The lock is taken only by programs, that is with interrupts off and the
 * CPU's guard held: an NMI that hits a probe meanwhile runs no program, so
 * a CPU never waits for a lock that it holds.
 *
 * A program gets the address of a value by reference, and may read and write
 * it after the lock is released, until the program ends. A freed chunk therefore
 * goes to its CPU's dirty list, and the cleaner makes it available again when every
 * program that was running at the time has ended.
 *
 * Context: probe, in the guard, unless noted otherwise.
 */
#include "context.h"
#include "program/vars.h"
#include "program/vcpu.h"

#define MAX_BUCKETS 65536

/* ---- allocation (process context) ---- */

static u32 count_buckets(const struct kinst_prog *p)
{
	return clamp_t(u64, roundup_pow_of_two(p->hdr->dynvarsize / 128 + 1), 64, MAX_BUCKETS);
}

u64 kinst_vars_bytes(const struct kinst_prog *p, u32 ncpus)
{
	u64 slabs = p->hdr->dynvarsize >> KINST_SLAB_SHIFT;

	return p->block[SCOPE_GLOBAL] + slabs * (KINST_SLAB + sizeof(struct kinst_slab)) +
	       count_buckets(p) * sizeof(struct kinst_bucket) + ncpus * sizeof(struct kinst_dyncpu);
}

int kinst_vars_alloc(struct kinst_vars *v, const struct kinst_prog *p, u32 ncpus)
{
	*v = (struct kinst_vars){
		.globals_size = p->block[SCOPE_GLOBAL],
		.locals_size = p->block[SCOPE_LOCAL],
		.nslabs = p->hdr->dynvarsize >> KINST_SLAB_SHIFT,
		.nbuckets = count_buckets(p),
		.ncpus = ncpus,
		.seed = kinst_env_seed(),
	};
	v->globals = kvzalloc(v->globals_size + 8, GFP_KERNEL_ACCOUNT);
	v->arena = vzalloc(((u64)v->nslabs << KINST_SLAB_SHIFT) + KINST_SLAB);
	v->slabs = kvcalloc(v->nslabs + 1, sizeof(*v->slabs), GFP_KERNEL_ACCOUNT);
	v->buckets = kvcalloc(v->nbuckets, sizeof(*v->buckets), GFP_KERNEL_ACCOUNT);
	v->cpus = kvcalloc(ncpus, sizeof(*v->cpus), GFP_KERNEL_ACCOUNT);
	if (v->globals && v->arena && v->slabs && v->buckets && v->cpus)
		return 0;
	kinst_vars_free(v);
	return -ENOMEM;
}

void kinst_vars_free(struct kinst_vars *v)
{
	kvfree(v->cpus);
	kvfree(v->buckets);
	kvfree(v->slabs);
	vfree(v->arena);
	kvfree(v->globals);
	*v = (struct kinst_vars){};
}

/* ---- chunks ---- */

/* Adds the list first .. last to *list, from any CPU. */
static nokprobe_inline void put_list(struct kinst_dynvar **list, struct kinst_dynvar *first,
				     struct kinst_dynvar *last)
{
	struct kinst_dynvar *old = READ_ONCE(*list), *seen;

	for (;;) {
		last->next = old;
		seen = cmpxchg(list, old, first);
		if (seen == old)
			return;
		old = seen;
	}
}

static nokprobe_inline struct kinst_dynvar *chunk_at(struct kinst_vars *v, u32 slab, u64 off)
{
	return (struct kinst_dynvar *)(v->arena + ((u64)slab << KINST_SLAB_SHIFT) + off);
}

/* Cuts new slabs into chunks of a class for this CPU; false when there are none left. */
static __at_hit bool cut_slab(struct kinst_vars *v, struct kinst_dyncpu *cpu, u32 class)
{
	u64 size = 1ull << class, off, bytes = max_t(u64, size, KINST_SLAB);
	u32 n = bytes >> KINST_SLAB_SHIFT, i, start = READ_ONCE(v->next_slab), seen;

	for (;;) {
		if (n > v->nslabs - start)
			return false;
		seen = cmpxchg(&v->next_slab, start, start + n);
		if (seen == start)
			break;
		start = seen;
	}
	for (off = 0; off < bytes; off += size) {
		struct kinst_dynvar *d = chunk_at(v, start, off);

		d->class = class;
		d->next = cpu->clean[class - KINST_MIN_CLASS];
		cpu->clean[class - KINST_MIN_CLASS] = d;
	}
	for (i = start; i < start + n; i++) {
		v->slabs[i].start = start;
		smp_store_release(&v->slabs[i].class, class);
	}
	return true;
}
NOKPROBE_SYMBOL(cut_slab);

static __at_hit struct kinst_dynvar *take_clean(struct kinst_dyncpu *cpu, u32 k)
{
	struct kinst_dynvar *d = cpu->clean[k];

	if (!d)
		d = READ_ONCE(cpu->back[k]) ? xchg(&cpu->back[k], NULL) : NULL;
	if (d)
		cpu->clean[k] = d->next;
	return d;
}
NOKPROBE_SYMBOL(take_clean);

/* Takes a cleaned chunk of another CPU, which that CPU has not used yet. */
static __at_hit struct kinst_dynvar *steal(struct kinst_vars *v, struct kinst_dyncpu *cpu, u32 k)
{
	u32 i;

	for (i = 0; i < v->ncpus; i++) {
		struct kinst_dynvar *d = READ_ONCE(v->cpus[i].back[k]) ? xchg(&v->cpus[i].back[k], NULL) : NULL;

		if (d) {
			cpu->clean[k] = d->next; /* it was empty */
			return d;
		}
	}
	return NULL;
}
NOKPROBE_SYMBOL(steal);

static __at_hit void count_drop(struct kinst_vars *v, struct kinst_dyncpu *cpu)
{
	if (READ_ONCE(cpu->dirty))
		cpu->drops_dirty++;
	else if (READ_ONCE(v->rinsing))
		cpu->drops_rinsing++;
	else
		cpu->drops++;
}
NOKPROBE_SYMBOL(count_drop);

static __at_hit struct kinst_dynvar *get_chunk(struct kinst_ctx *c, u64 bytes)
{
	struct kinst_vars *v = c->vars;
	struct kinst_dyncpu *cpu = &v->cpus[c->cpu];
	struct kinst_dynvar *d;
	u32 class = KINST_MIN_CLASS, k;

	while (class <= KINST_MAX_CLASS && bytes > 1ull << class)
		class++;
	if (class > KINST_MAX_CLASS)
		goto drop;
	d = take_clean(cpu, class - KINST_MIN_CLASS);
	if (d)
		return d;
	if (cut_slab(v, cpu, class))
		return take_clean(cpu, class - KINST_MIN_CLASS);
	for (k = class - KINST_MIN_CLASS; k < KINST_NCLASSES; k++) {
		d = take_clean(cpu, k);
		if (!d)
			d = steal(v, cpu, k);
		if (d)
			return d;
	}
drop:
	count_drop(v, cpu);
	return NULL;
}
NOKPROBE_SYMBOL(get_chunk);

/* ---- the cleaner (process context, one at a time) ---- */

bool kinst_vars_collect(struct kinst_vars *v)
{
	u32 i;

	for (i = 0; i < v->ncpus; i++) {
		struct kinst_dynvar *d, *next;

		if (!READ_ONCE(v->cpus[i].dirty))
			continue;
		for (d = xchg(&v->cpus[i].dirty, NULL); d; d = next) {
			next = d->next;
			d->next = v->rinsing;
			d->reserved = i;
			WRITE_ONCE(v->rinsing, d);
		}
	}
	return v->rinsing;
}

void kinst_vars_release(struct kinst_vars *v)
{
	struct kinst_dynvar *d, *next;

	d = v->rinsing;
	WRITE_ONCE(v->rinsing, NULL);
	for (; d; d = next) {
		next = d->next;
		put_list(&v->cpus[d->reserved].back[d->class - KINST_MIN_CLASS], d, d);
	}
}

/* ---- keys and buckets ---- */

/*
 * Appends the bytes of an entry to the key; false if that fails, with or without a fault.
 * One entry may be longer than a string if others are shorter.
 */
static __at_hit bool add_bytes(struct kinst_ctx *c, u64 *len, u64 room, const struct kinst_tuple *t)
{
	u8 *at = c->vcpu->key + *len;
	u64 n = t->size;

	if (n > room || roundup(n, 8) > room)
		return false;
	if (n % 8)
		*(u64 *)(at + round_down(n, 8)) = 0;
	*len += roundup(n, 8);
	if (t->string)
		at[--n] = 0;
	return kinst_load(c, at, t->value, n, false);
}
NOKPROBE_SYMBOL(add_bytes);

/* Lays the key out in the CPU's buffer: the tuple stack, then the thread. Returns its length, or -1 on failure. */
static __at_hit s64 make_key(struct kinst_ctx *c, u32 scope, bool key)
{
	u64 *words = (u64 *)c->vcpu->key, len = 0;
	const u64 end = kinst_key_size(c->prog) - 16; /* the thread comes last */
	u32 i;

	for (i = 0; key && i < c->ntuple; i++) {
		const struct kinst_tuple *t = &c->tuple[i];

		/* The program chooses the sizes: a long entry may leave no space for the following ones. */
		if (end - len < 16)
			goto drop;
		words[len / 8] = t->size;
		len += 8;
		if (!t->size) {
			words[len / 8] = t->value;
			len += 8;
		} else if (!add_bytes(c, &len, end - len, t)) {
			goto drop;
		}
	}
	if (scope == SCOPE_THREAD) {
		kinst_env_thread(c, &words[len / 8]);
		len += 16;
	}
	return len;

drop:
	if (!c->faulted)
		c->vars->cpus[c->cpu].drops++;
	return -1;
}
NOKPROBE_SYMBOL(make_key);

/* Waits while fuel is left: a program on another CPU may be walking a long list. */
static __at_hit bool bucket_lock(struct kinst_ctx *c, struct kinst_bucket *b)
{
	while (cmpxchg_acquire(&b->lock, 0, 1)) {
		while (READ_ONCE(b->lock)) {
			if (!kinst_burn(c, 1))
				return false;
			cpu_relax();
		}
	}
	return true;
}
NOKPROBE_SYMBOL(bucket_lock);

static nokprobe_inline void bucket_unlock(struct kinst_bucket *b)
{
	smp_store_release(&b->lock, 0);
}

/* The link to the element, or the NULL at the bucket's end; NULL and a fault if the list is too long. Bucket locked. */
static __at_hit struct kinst_dynvar **find(struct kinst_ctx *c, struct kinst_bucket *b, u64 hash, u32 var, u64 len)
{
	struct kinst_dynvar **at;

	for (at = &b->head; *at; at = &(*at)->next) {
		struct kinst_dynvar *d = *at;

		if (d->hash == hash && d->var == var && d->keylen == len && !memcmp(d + 1, c->vcpu->key, len))
			break;
		if (!kinst_burn(c, KINST_NODE_STEPS + (d->hash == hash ? len / 8 : 0)))
			return NULL;
	}
	return at;
}
NOKPROBE_SYMBOL(find);

/* Hashes the key of len bytes that make_key() laid out; pays for this, the comparison and the copy. */
static __at_hit bool hash_key(struct kinst_ctx *c, u32 var, u64 len, u64 *hash)
{
	*hash = kinst_hash(c->vars->seed + var, c->vcpu->key, len);
	return kinst_burn(c, KINST_NODE_STEPS + len / 8);
}
NOKPROBE_SYMBOL(hash_key);

static nokprobe_inline u64 *value_of(struct kinst_dynvar *d)
{
	return (u64 *)((u8 *)d + d->valoff);
}

/* ---- dynamic variables, for programs ---- */

__at_hit u64 kinst_dyn_load(struct kinst_ctx *c, u32 scope, u32 id, bool key)
{
	const struct kinst_slot *slot = kinst_slot(c->prog, scope, id);
	s64 len = make_key(c, scope, key);
	struct kinst_dynvar *d, **at;
	u32 var = scope << 16 | id;
	struct kinst_bucket *b;
	u64 hash, value = 0;

	if (len < 0 || !hash_key(c, var, len, &hash))
		return 0;
	b = &c->vars->buckets[hash & (c->vars->nbuckets - 1)];
	if (!bucket_lock(c, b))
		return 0;
	at = find(c, b, hash, var, len);
	d = at ? *at : NULL;
	if (d)
		value = slot->byref ? (u64)(uintptr_t)value_of(d) : *value_of(d);
	bucket_unlock(b);
	return value;
}
NOKPROBE_SYMBOL(kinst_dyn_load);

static __at_hit struct kinst_dynvar *new_element(struct kinst_ctx *c, const struct kinst_slot *slot, u64 hash, u32 var,
						u64 len)
{
	u32 vallen = slot->byref ? roundup(slot->size, 8) : 8;
	struct kinst_dynvar *d;

	if (!kinst_burn(c, (len + vallen) / 8))
		return NULL;
	d = get_chunk(c, sizeof(*d) + len + vallen);
	if (!d)
		return NULL;
	d->next = NULL;
	d->hash = hash;
	d->var = var;
	d->keylen = len;
	memcpy(d + 1, c->vcpu->key, len);
	WRITE_ONCE(d->valoff, sizeof(*d) + len);
	WRITE_ONCE(d->vallen, vallen);
	memset(value_of(d), 0, vallen);
	return d;
}
NOKPROBE_SYMBOL(new_element);

static __at_hit void copy_value(struct kinst_ctx *c, const struct kinst_slot *slot, void *dst, u64 src)
{
	if (slot->string)
		kinst_load_str(c, dst, src, slot->size, false);
	else
		kinst_load(c, dst, src, slot->size, false);
}
NOKPROBE_SYMBOL(copy_value);

__at_hit void kinst_dyn_store(struct kinst_ctx *c, u32 scope, u32 id, bool key, u64 value)
{
	const struct kinst_slot *slot = kinst_slot(c->prog, scope, id);
	s64 len = make_key(c, scope, key);
	struct kinst_dynvar *d, **at, *freed = NULL;
	u32 var = scope << 16 | id;
	struct kinst_bucket *b;
	u64 hash;

	if (len < 0 || !hash_key(c, var, len, &hash))
		return;
	b = &c->vars->buckets[hash & (c->vars->nbuckets - 1)];
	if (!bucket_lock(c, b))
		return;
	at = find(c, b, hash, var, len);
	if (!at) {
		bucket_unlock(b);
		return;
	}
	d = *at;
	if (!value) {
		freed = d;
		if (d)
			*at = d->next;
	} else if (!d) {
		d = *at = new_element(c, slot, hash, var, len);
	}
	if (d && !freed && !slot->byref)
		*value_of(d) = value;
	bucket_unlock(b);

	if (freed)
		put_list(&c->vars->cpus[c->cpu].dirty, freed, freed);
	else if (d && slot->byref && (u64)(uintptr_t)value_of(d) != value)
		copy_value(c, slot, value_of(d), value); /* without the lock: it may take long, and may fault */
}
NOKPROBE_SYMBOL(kinst_dyn_store);

/* ---- globals and clause-locals ---- */

/* For a value by reference, the word before the data records whether 0 was stored. */
static nokprobe_inline u64 *place_of(struct kinst_ctx *c, u32 scope, const struct kinst_slot *slot)
{
	return (u64 *)((scope == SCOPE_GLOBAL ? c->vars->globals : c->vcpu->locals) + slot->off);
}

__at_hit u64 kinst_static_load(struct kinst_ctx *c, u32 scope, u32 id)
{
	const struct kinst_slot *slot = kinst_slot(c->prog, scope, id);
	u64 *at = place_of(c, scope, slot), word = READ_ONCE(*at);

	if (!slot->byref)
		return word;
	return word ? 0 : (u64)(uintptr_t)(at + 1);
}
NOKPROBE_SYMBOL(kinst_static_load);

__at_hit void kinst_static_store(struct kinst_ctx *c, u32 scope, u32 id, u64 value)
{
	const struct kinst_slot *slot = kinst_slot(c->prog, scope, id);
	u64 *at = place_of(c, scope, slot);

	WRITE_ONCE(*at, slot->byref ? !value : value);
	if (slot->byref && value && value != (u64)(uintptr_t)(at + 1))
		copy_value(c, slot, at + 1, value);
}
NOKPROBE_SYMBOL(kinst_static_store);

/* ---- stores through an address ---- */

static nokprobe_inline bool within(u64 addr, u64 n, const void *start, u64 size)
{
	u64 base = (u64)(uintptr_t)start;

	return addr >= base && addr - base <= size && n <= size - (addr - base);
}

/*
 * A chunk can be freed and reused between this check and the write only if the address
 * was forged; even then the write stays in one chunk and off its header.
 */
__at_hit bool kinst_vars_storable(struct kinst_ctx *c, u64 addr, u64 n)
{
	struct kinst_vars *v = c->vars;
	u64 base = (u64)(uintptr_t)v->arena, size, run, off;
	struct kinst_dynvar *d;
	struct kinst_slab *slab;
	u32 class, valoff;

	if (within(addr, n, v->globals, v->globals_size) || within(addr, n, c->vcpu->locals, v->locals_size))
		return true;
	if (!within(addr, n, v->arena, (u64)v->nslabs << KINST_SLAB_SHIFT) ||
	    addr - base >= (u64)v->nslabs << KINST_SLAB_SHIFT)
		return false;
	slab = &v->slabs[(addr - base) >> KINST_SLAB_SHIFT];
	class = smp_load_acquire(&slab->class);
	if (!class)
		return false;
	size = 1ull << class;
	run = (u64)slab->start << KINST_SLAB_SHIFT;
	off = (addr - base - run) & ~(size - 1);
	d = chunk_at(v, slab->start, off);
	valoff = READ_ONCE(d->valoff);
	if (valoff < sizeof(*d) || valoff > size)
		return false;
	return within(addr, n, (u8 *)d + valoff, min_t(u64, READ_ONCE(d->vallen), size - valoff));
}
NOKPROBE_SYMBOL(kinst_vars_storable);
