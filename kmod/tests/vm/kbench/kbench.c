// SPDX-License-Identifier: GPL-2.0
/*
 * kbench.c: the kernel's own kinds of probes, to compare the cost of a hit: a kprobe or
 * an ftrace callback that counts per CPU and does nothing else.
 *
 *   insmod kbench.ko kind=kprobe symbol=F offset=N
 *   insmod kbench.ko kind=ftrace symbol=F
 *   cat /sys/module/kbench/parameters/hits
 */
#include <linux/ftrace.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/percpu.h>

static char *kind = "kprobe";
module_param(kind, charp, 0444);

static char *symbol;
module_param(symbol, charp, 0444);

static unsigned int offset;
module_param(offset, uint, 0444);

static DEFINE_PER_CPU(unsigned long, kbench_count);

static int hits_get(char *buf, const struct kernel_param *kp)
{
	unsigned long sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += per_cpu(kbench_count, cpu);
	return sysfs_emit(buf, "%lu\n", sum);
}

static const struct kernel_param_ops hits_ops = { .get = hits_get };
module_param_cb(hits, &hits_ops, NULL, 0444);

/* Context: kprobes', preemption off. */
static int kbench_kprobe_hit(struct kprobe *kp, struct pt_regs *regs)
{
	this_cpu_inc(kbench_count);
	return 0;
}
NOKPROBE_SYMBOL(kbench_kprobe_hit);

static struct kprobe kbench_kprobe = {
	.pre_handler = kbench_kprobe_hit,
};

/* Context: ftrace's, preemption off. */
static void notrace kbench_ftrace_hit(unsigned long ip, unsigned long parent_ip, struct ftrace_ops *ops,
				      struct ftrace_regs *fregs)
{
	this_cpu_inc(kbench_count);
}

static struct ftrace_ops kbench_ftrace = {
	.func = kbench_ftrace_hit,
	.flags = FTRACE_OPS_FL_SAVE_REGS_IF_SUPPORTED,
};

static int __init kbench_init(void)
{
	int err;

	if (!symbol)
		return -EINVAL;
	if (!strcmp(kind, "kprobe")) {
		kbench_kprobe.symbol_name = symbol;
		kbench_kprobe.offset = offset;
		return register_kprobe(&kbench_kprobe);
	}
	if (strcmp(kind, "ftrace"))
		return -EINVAL;
	err = ftrace_set_filter(&kbench_ftrace, symbol, strlen(symbol), 1);
	return err ?: register_ftrace_function(&kbench_ftrace);
}

static void __exit kbench_exit(void)
{
	if (!strcmp(kind, "kprobe"))
		unregister_kprobe(&kbench_kprobe);
	else
		unregister_ftrace_function(&kbench_ftrace);
}

module_init(kbench_init);
module_exit(kbench_exit);
MODULE_DESCRIPTION("the cost of kprobes and ftrace, for the benchmark of kinst");
MODULE_LICENSE("GPL");
