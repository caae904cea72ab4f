// SPDX-License-Identifier: GPL-2.0
/*
 * overwrite.c: a module that patches the kernel's text as debuggers do: without coordination.
 *
 *   at=ADDRESS byte=B     writes the byte; on unload, restores the original one
 *
 * The kernel's functions for that are found by a kprobe on the function that looks up symbols.
 */
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/mutex.h>

static unsigned long at;
static unsigned char byte, before;

module_param(at, ulong, 0400);
module_param(byte, byte, 0400);

static struct mutex *text_lock;
static void *(*text_write)(void *addr, const void *opcode, size_t len);
static void (*text_sync)(void);

static unsigned char overwrite(unsigned char with)
{
	unsigned char was;

	mutex_lock(text_lock);
	was = *(unsigned char *)at;
	text_write((void *)at, &with, 1);
	text_sync();
	mutex_unlock(text_lock);
	return was;
}

static int __init overwrite_init(void)
{
	struct kprobe finder = { .symbol_name = "kallsyms_lookup_name" };
	unsigned long (*find)(const char *name);
	int err = register_kprobe(&finder);

	if (err)
		return err;
	find = (void *)finder.addr;
	unregister_kprobe(&finder);
	text_lock = (void *)find("text_mutex");
	text_write = (void *)find("text_poke");
	text_sync = (void *)(find("text_poke_sync") ?: find("smp_text_poke_sync_each_cpu"));
	if (!text_lock || !text_write || !text_sync || !at)
		return -EINVAL;
	before = overwrite(byte);
	return 0;
}

static void __exit overwrite_exit(void)
{
	overwrite(before);
}

module_init(overwrite_init);
module_exit(overwrite_exit);
MODULE_DESCRIPTION("overwrites a byte of the kernel's text");
MODULE_LICENSE("GPL");
