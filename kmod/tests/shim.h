/* SPDX-License-Identifier: GPL-2.0 */
/*
 * shim.h: user-space versions of the kernel interfaces that the pure files need.
 */
#ifndef _KINST_SHIM_H
#define _KINST_SHIM_H

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int8_t s8;
typedef int16_t s16;
typedef int32_t s32;
typedef int64_t s64;

#define S64_MAX INT64_MAX
#define S64_MIN INT64_MIN
#define U32_MAX UINT32_MAX
#define U64_MAX UINT64_MAX

#define notrace
#define likely(x) (x)
#define unlikely(x) (x)
#define cond_resched() ((void)0)
#define nokprobe_inline inline __attribute__((always_inline))
#define NOKPROBE_SYMBOL(f) _Static_assert(1, #f)
#define fallthrough __attribute__((fallthrough))

#define min(a, b) ({ __typeof__(a) _a = (a); __typeof__(b) _b = (b); _a < _b ? _a : _b; })
#define max(a, b) ({ __typeof__(a) _a = (a); __typeof__(b) _b = (b); _a > _b ? _a : _b; })
#define min3(a, b, c) min(min(a, b), c)
#define min_t(t, a, b) min((t)(a), (t)(b))
#define max_t(t, a, b) max((t)(a), (t)(b))
#define clamp_t(t, v, lo, hi) min_t(t, max_t(t, v, lo), hi)
#define roundup(x, n) (((x) + (n) - 1) / (n) * (n))
#define round_down(x, n) ((x) / (n) * (n))

static inline u32 ilog2(u64 v)
{
	return 63 - __builtin_clzll(v);
}

static inline u64 roundup_pow_of_two(u64 v)
{
	return v < 2 ? 1 : 1ull << (ilog2(v - 1) + 1);
}

#define div_u64(a, b) ((u64)(a) / (u32)(b))
#define div64_u64(a, b) ((u64)(a) / (u64)(b))
#define div64_s64(a, b) ((s64)(a) / (s64)(b))
#define swab16 __builtin_bswap16
#define swab32 __builtin_bswap32
#define swab64 __builtin_bswap64

/* ---- memory ---- */

#define GFP_KERNEL 0
#define GFP_KERNEL_ACCOUNT 0
#define PAGE_SIZE 4096ull
#define kvzalloc(n, flags) calloc(1, n)
#define kvcalloc(n, size, flags) calloc(n, size)
#define kvmalloc_array(n, size, flags) calloc(n, size)
#define kvfree free
#define vzalloc(n) calloc(1, n)
#define vfree free

static inline void *vmalloc_user(size_t n)
{
	void *p = aligned_alloc(PAGE_SIZE, roundup(n, PAGE_SIZE));

	return p ? memset(p, 0, n) : NULL;
}

/* ---- CPUs and memory order ---- */

#define READ_ONCE(x) (*(volatile __typeof__(x) *)&(x))
#define WRITE_ONCE(x, v) (*(volatile __typeof__(x) *)&(x) = (v))
#define smp_load_acquire(p) __atomic_load_n(p, __ATOMIC_ACQUIRE)
#define smp_store_release(p, v) __atomic_store_n(p, v, __ATOMIC_RELEASE)
#define smp_mb() __atomic_thread_fence(__ATOMIC_SEQ_CST)
#define smp_wmb() __atomic_thread_fence(__ATOMIC_RELEASE)
#define xchg(p, v) __atomic_exchange_n(p, v, __ATOMIC_SEQ_CST)
#define cmpxchg(p, old, new) ({ \
	__typeof__(*(p)) _old = (old); \
	__atomic_compare_exchange_n(p, &_old, new, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); \
	_old; \
})
#define cmpxchg_acquire cmpxchg
#define cpu_relax() __builtin_ia32_pause()

typedef struct { long n; } local_t;
#define local_read(p) ((p)->n)
#define local_inc(p) ((void)(p)->n++)

bool cpu_possible(u32 cpu); /* mock.c */

#include "hit.h"

#endif /* _KINST_SHIM_H */
