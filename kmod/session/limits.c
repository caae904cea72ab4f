// SPDX-License-Identifier: GPL-2.0
/*
 * session/limits.c: the permission to trace, and the limits of one session and of all sessions.
 *
 * Context: process.
 */
#include <linux/capability.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/security.h>
#include <linux/spinlock.h>
#include "params.h"
#include "session/limits.h"

static unsigned int max_probes = 131072;
module_param(max_probes, uint, 0600);
MODULE_PARM_DESC(max_probes, "maximum number of probes of one session");

static unsigned int max_once = 1 << 19;
module_param(max_once, uint, 0600);
MODULE_PARM_DESC(max_once, "maximum number of probes of one session that removes each at its first hit");

static unsigned int max_insns = 1 << 20;
module_param(max_insns, uint, 0600);
MODULE_PARM_DESC(max_insns, "maximum number of DIF instructions of one image");

static unsigned long max_memory;
module_param(max_memory, ulong, 0600);
MODULE_PARM_DESC(max_memory, "maximum memory of one session in bytes (0: a quarter of the machine's memory)");

static unsigned long max_total_memory;
module_param(max_total_memory, ulong, 0600);
MODULE_PARM_DESC(max_total_memory, "maximum memory of all sessions in bytes (0: half of the machine's memory)");

static unsigned int max_sessions = 128;
module_param(max_sessions, uint, 0600);
MODULE_PARM_DESC(max_sessions, "maximum number of concurrent sessions");

static DEFINE_SPINLOCK(lock);
static unsigned int sessions;
static u64 memory;

/* ---- current use: /sys/module/kinst/parameters, read-only ---- */

static int show_sessions(char *buffer, const struct kernel_param *kp)
{
	return sysfs_emit(buffer, "%u\n", READ_ONCE(sessions));
}

static int show_memory(char *buffer, const struct kernel_param *kp)
{
	return sysfs_emit(buffer, "%llu\n", READ_ONCE(memory));
}

static const struct kernel_param_ops sessions_ops = { .set = kinst_refuse_to_set, .get = show_sessions };
module_param_cb(sessions, &sessions_ops, NULL, 0400);
MODULE_PARM_DESC(sessions, "current number of sessions (read-only)");

static const struct kernel_param_ops memory_ops = { .set = kinst_refuse_to_set, .get = show_memory };
module_param_cb(memory, &memory_ops, NULL, 0400);
MODULE_PARM_DESC(memory, "current memory use of all sessions in bytes (read-only)");

/* ---- limits ---- */

u32 kinst_max_probes(void)
{
	return READ_ONCE(max_probes);
}

u32 kinst_max_once(void)
{
	return READ_ONCE(max_once);
}

u32 kinst_max_insns(void)
{
	return READ_ONCE(max_insns);
}

static u64 part_of_memory(unsigned int nth)
{
	return (u64)totalram_pages() * PAGE_SIZE / nth;
}

u64 kinst_max_memory(void)
{
	return READ_ONCE(max_memory) ?: part_of_memory(4);
}

int kinst_limits_enter(void)
{
	int ret = -EUSERS;

	spin_lock(&lock);
	if (sessions < READ_ONCE(max_sessions)) {
		sessions++;
		ret = 0;
	}
	spin_unlock(&lock);
	return ret;
}

void kinst_limits_leave(void)
{
	spin_lock(&lock);
	sessions--;
	spin_unlock(&lock);
}

int kinst_limits_charge(u64 bytes)
{
	u64 limit = READ_ONCE(max_total_memory) ?: part_of_memory(2);
	int ret = -EDQUOT;

	/* If the memory is not available, the kernel would kill processes to get it. */
	if (bytes / PAGE_SIZE > max(si_mem_available(), 0L))
		return -ENOMEM;
	spin_lock(&lock);
	if (memory <= limit && bytes <= limit - memory) {
		memory += bytes;
		ret = 0;
	}
	spin_unlock(&lock);
	return ret;
}

void kinst_limits_uncharge(u64 bytes)
{
	spin_lock(&lock);
	memory -= bytes;
	spin_unlock(&lock);
}

/* ---- permission ---- */

int kinst_may_trace(void)
{
	if (!capable(CAP_SYS_ADMIN))
		return -EPERM;
	return security_locked_down(LOCKDOWN_KPROBES);
}

int kinst_may_destroy(void)
{
	return security_locked_down(LOCKDOWN_BPF_WRITE_USER) ? -EACCES : 0;
}
