// SPDX-License-Identifier: GPL-2.0
/*
 * main.c: loads and unloads the module.
 */
#include <linux/init.h>
#include <linux/module.h>
#include <linux/printk.h>
#include <linux/stringify.h>

#include "arch/ksym.h"
#include "include/uapi/kinst.h"
#include "program/kernel/builtin.h"
#include "program/kernel/destroy.h"
#include "program/kernel/unaccepted.h"
#include "providers/sources.h"
#include "session/chardev.h"

static int __init kinst_init(void)
{
	int err = kinst_ksym_init();

	if (err)
		return err;
	err = kinst_sources_init();
	if (err)
		return err;
	kinst_builtin_init();
	kinst_unaccepted_init();
	kinst_destroy_init();
	err = kinst_chardev_init();
	if (err)
		goto destroy;
	return 0;

destroy:
	kinst_destroy_exit();
	kinst_sources_exit();
	return err;
}

static void __exit kinst_exit(void)
{
	kinst_chardev_exit();
	kinst_destroy_exit();
	kinst_sources_exit();
}

module_init(kinst_init);
module_exit(kinst_exit);

MODULE_DESCRIPTION("DTrace's kinst provider: traces any instruction of the kernel");
MODULE_LICENSE("GPL");
MODULE_INFO(abi, __stringify(KINST_ABI_VERSION));
