// SPDX-License-Identifier: GPL-2.0
/* mock.c: program/env.h in user space. Memory is that of this process, read without faulting. */
#define _GNU_SOURCE
#include <sys/uio.h>
#include <unistd.h>
#include "mock.h"

struct mock mock = {
	.timestamp = 1000000000, .vtimestamp = 5000000, .walltimestamp = 1700000000000000000,
	.curthread = 0xffff888000001000, .pid = 100, .tid = 101, .ppid = 1, .uid = 1000, .gid = 1000,
	.caller = 0xffffffff81000123, .stackdepth = 5, .rand = 4, .execname = "mock", .execargs = "mock -x",
	.thread = { 0xffff888000001000, 12345 },
};

bool cpu_possible(u32 cpu)
{
	return cpu == mock.cpu;
}

static bool copy(void *local, u64 remote, size_t n, bool write)
{
	struct iovec l = { local, n }, r = { (void *)(uintptr_t)remote, n };

	if (!n)
		return true;
	return (write ? process_vm_writev(getpid(), &l, 1, &r, 1, 0) :
			process_vm_readv(getpid(), &l, 1, &r, 1, 0)) == (ssize_t)n;
}

bool kinst_env_read(void *dst, u64 addr, size_t n)
{
	return copy(dst, addr, n, false);
}

bool kinst_env_read_user(void *dst, u64 addr, size_t n)
{
	return copy(dst, addr, n, false);
}

bool kinst_env_write_user(struct kinst_ctx *c, u64 addr, const void *src, size_t n)
{
	(void)c;
	return copy((void *)src, addr, n, true);
}

u64 kinst_env_seed(void)
{
	return 1;
}

u64 kinst_env_now(void)
{
	return mock.timestamp;
}

u64 kinst_env_tgid(void)
{
	return mock.pid;
}

void kinst_env_thread(struct kinst_ctx *c, u64 key[2])
{
	(void)c;
	memcpy(key, mock.thread, sizeof(mock.thread));
}

void kinst_env_stack(struct kinst_ctx *c, u64 *pcs, u32 n)
{
	(void)c;
	memset(pcs, 0, n * sizeof(*pcs));
	pcs[0] = mock.caller;
}

void kinst_env_ustack(struct kinst_ctx *c, u64 *pcs, u32 n)
{
	(void)c;
	memset(pcs, 0, n * sizeof(*pcs));
	if (n)
		pcs[0] = mock.ucaller;
}

void kinst_env_ustack_copy(struct kinst_ustack *to, u32 size)
{
	u32 i;

	to->bytes = min_t(u32, size, mock.ustack);
	to->nregs = 16;
	to->ip = mock.pid + 16;
	for (i = 0; i < 16; i++)
		to->regs[i] = mock.pid + i;
	memset(to + 1, 0x5a, to->bytes);
}

u64 kinst_env_arg(struct kinst_ctx *c, u64 i)
{
	return i < c->hit->nargs ? c->hit->args[i] : 0;
}

u64 kinst_env_reg(struct kinst_ctx *c, u64 i, bool user)
{
	if (i >= MOCK_NREGS || i == 15) { /* 15: R_TRAPNO */
		kinst_fault(c, KINST_FLT_ILLOP, i);
		return 0;
	}
	return user ? mock.uregs[i] : mock.regs[i];
}

u64 kinst_env_var(struct kinst_ctx *c, u32 id)
{
	static const struct kinst_probe none;
	const struct kinst_probe *q = c->probe == KINST_NONE ? &none : &c->prog->probes[c->probe];
	const u32 names[] = { q->prov, q->mod, q->name_func, q->name };

	switch (id) {
	case VAR_CURTHREAD: return mock.curthread;
	case VAR_TIMESTAMP: return kinst_ctx_now(c);
	case VAR_VTIMESTAMP: return mock.vtimestamp;
	case VAR_WALLTIMESTAMP: return mock.walltimestamp;
	case VAR_IPL: return mock.ipl;
	case VAR_EPID: return c->epid;
	case VAR_ID: return q->id;
	case VAR_ARG0 ... VAR_ARG9: return kinst_env_arg(c, id - VAR_ARG0);
	case VAR_STACKDEPTH: return mock.stackdepth;
	case VAR_CALLER: return mock.caller;
	case VAR_USTACKDEPTH: return mock.ustackdepth;
	case VAR_UCALLER: return mock.ucaller;
	case VAR_PROBEPROV ... VAR_PROBENAME: return (u64)(uintptr_t)(c->prog->strtab + names[id - VAR_PROBEPROV]);
	case VAR_INLINEFUNC: return (u64)(uintptr_t)(c->prog->strtab + (kinst_inlined(c) ?: q->name_func));
	case VAR_PID: return mock.pid;
	case VAR_TID: return mock.tid;
	case VAR_PPID: return mock.ppid;
	case VAR_UID: return mock.uid;
	case VAR_GID: return mock.gid;
	case VAR_ERRNO: return mock.errno_;
	case VAR_EXECNAME: return (u64)(uintptr_t)mock.execname;
	case VAR_EXECARGS: return (u64)(uintptr_t)mock.execargs;
	case VAR_ZONENAME: return (u64)(uintptr_t)"global";
	case VAR_CPU: return c->cpu;
	}
	return 0;
}

/* rand() returns what the test set; no mutex or other lock is held. */
u64 kinst_env_subr(struct kinst_ctx *c, u32 subr)
{
	switch (subr) {
	case SUBR_RAND: return mock.rand;
	case SUBR_PROGENYOF: return c->tuple[0].value == mock.pid || c->tuple[0].value == mock.ppid;
	case SUBR_MUTEX_TYPE_ADAPTIVE: return 1;
	}
	return 0;
}

/* Nothing is destroyed here; a chill beyond the limit faults as in the kernel. */
void kinst_env_destroy(struct kinst_ctx *c, u32 kind, u64 value)
{
	if (kind == KINST_ACT_CHILL && value > 500000000)
		kinst_fault(c, KINST_FLT_ILLOP, 0);
}

void kinst_env_wake(struct kinst_session *s)
{
	(void)s;
	mock.wakes++;
}
