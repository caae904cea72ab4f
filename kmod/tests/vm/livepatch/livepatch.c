// SPDX-License-Identifier: GPL-2.0
/*
 * livepatch.c: replaces the function of /proc/cmdline, like a kernel fix in the
 * field.
 *
 *   insmod livepatch.ko
 *   echo 0 >/sys/kernel/livepatch/livepatch/enabled, and rmmod when the folder has disappeared
 */
#include <linux/livepatch.h>
#include <linux/module.h>
#include <linux/seq_file.h>

static int livepatch_cmdline_proc_show(struct seq_file *m, void *v)
{
	seq_puts(m, "patched\n");
	return 0;
}

static struct klp_func funcs[] = {
	{ .old_name = "cmdline_proc_show", .new_func = livepatch_cmdline_proc_show },
	{ }
};

static struct klp_object objs[] = {
	{ .funcs = funcs },
	{ }
};

static struct klp_patch patch = { .mod = THIS_MODULE, .objs = objs };

static int __init livepatch_init(void)
{
	return klp_enable_patch(&patch);
}

static void __exit livepatch_exit(void)
{
}

module_init(livepatch_init);
module_exit(livepatch_exit);
MODULE_INFO(livepatch, "Y");
MODULE_DESCRIPTION("replaces a function, for the tests of kinst");
MODULE_LICENSE("GPL");
