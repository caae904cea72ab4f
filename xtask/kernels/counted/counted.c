// SPDX-License-Identifier: GPL-2.0
/*
 * Counts of the calls of functions, by gcc's -finstrument-functions: of each place where a function
 * begins or ends, be it its own code or where it was inlined.
 *
 * Counted is what tasks with PR_SET_NO_NEW_PRIVS do outside of interrupts. That is inherited and never
 * taken back, so all processes of a load have it, and no other task does.
 *
 *   /sys/kernel/debug/counted/on      whether anything is counted
 *   /sys/kernel/debug/counted/calls   "enter|exit COUNT FUNCTION ADDRESS PLACE ADDRESS", and "lost COUNT";
 *                                     a write sets all to 0
 */
#include <linux/debugfs.h>
#include <linux/export.h>
#include <linux/hash.h>
#include <linux/init.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/seq_file.h>

#define COUNTED_BITS 17
#define COUNTED_SIZE (1 << COUNTED_BITS)
/* The slots that are looked at before a call is lost. */
#define COUNTED_PROBES 256

/*
 * The key is the lower halves of the addresses of the function and of the place that called the
 * hook: the upper halves of all addresses of the kernel's text are ones.
 */
struct counted_slot {
	atomic64_t key;
	atomic64_t count;
};

static struct counted_slot counted_slots[2][COUNTED_SIZE];
static atomic64_t counted_lost;
static bool counted_on;

static __always_inline bool counted_here(void)
{
	return READ_ONCE(counted_on) &&
	       (READ_ONCE(current->atomic_flags) & BIT(PFA_NO_NEW_PRIVS)) &&
	       !(preempt_count() & (NMI_MASK | HARDIRQ_MASK | SOFTIRQ_OFFSET));
}

static __always_inline void counted_count(struct counted_slot *slots, void *fn, unsigned long place)
{
	u64 key = (u64)(unsigned long)fn << 32 | (u32)place;
	u32 first = (u32)(key * GOLDEN_RATIO_64 >> (64 - COUNTED_BITS));
	u32 i;

	for (i = 0; i < COUNTED_PROBES; i++) {
		struct counted_slot *slot = &slots[(first + i) % COUNTED_SIZE];
		u64 has = arch_atomic64_read(&slot->key);

		if (!has)
			has = arch_atomic64_cmpxchg(&slot->key, 0, key);
		if (!has || has == key) {
			arch_atomic64_inc(&slot->count);
			return;
		}
	}
	arch_atomic64_inc(&counted_lost);
}

void __cyg_profile_func_enter(void *fn, void *callsite);
void __cyg_profile_func_exit(void *fn, void *callsite);

noinstr void __cyg_profile_func_enter(void *fn, void *callsite)
{
	if (counted_here())
		counted_count(counted_slots[0], fn, _RET_IP_);
}
EXPORT_SYMBOL(__cyg_profile_func_enter);

noinstr void __cyg_profile_func_exit(void *fn, void *callsite)
{
	if (counted_here())
		counted_count(counted_slots[1], fn, _RET_IP_);
}
EXPORT_SYMBOL(__cyg_profile_func_exit);

static int counted_show(struct seq_file *m, void *v)
{
	static const char * const kinds[] = { "enter", "exit" };
	int kind, i;

	for (kind = 0; kind < 2; kind++) {
		for (i = 0; i < COUNTED_SIZE; i++) {
			struct counted_slot *slot = &counted_slots[kind][i];
			u64 key = atomic64_read(&slot->key), count = atomic64_read(&slot->count);
			void *fn = (void *)(long)(int)(key >> 32);
			void *place = (void *)(long)(int)key;

			if (count)
				seq_printf(m, "%s %llu %ps %px %ps %px\n", kinds[kind], count, fn, fn,
					   place - 1, place);
		}
	}
	seq_printf(m, "lost %lld\n", atomic64_read(&counted_lost));
	return 0;
}

static int counted_open(struct inode *inode, struct file *file)
{
	return single_open_size(file, counted_show, NULL, 8 << 20);
}

static ssize_t counted_reset(struct file *file, const char __user *buf, size_t len, loff_t *pos)
{
	int kind, i;

	for (kind = 0; kind < 2; kind++) {
		for (i = 0; i < COUNTED_SIZE; i++)
			atomic64_set(&counted_slots[kind][i].count, 0);
	}
	atomic64_set(&counted_lost, 0);
	return len;
}

static const struct file_operations counted_calls = {
	.open = counted_open,
	.read = seq_read,
	.write = counted_reset,
	.llseek = seq_lseek,
	.release = single_release,
};

static int __init counted_init(void)
{
	struct dentry *dir = debugfs_create_dir("counted", NULL);

	debugfs_create_bool("on", 0600, dir, &counted_on);
	debugfs_create_file("calls", 0600, dir, NULL, &counted_calls);
	return 0;
}
late_initcall(counted_init);
