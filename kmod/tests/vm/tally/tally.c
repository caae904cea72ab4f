// SPDX-License-Identifier: GPL-2.0
/*
 * tally.c: the driver that the guide traces (docs/guide/src/driver.md). Each number written to /dev/tally allocates as
 * many bytes; reading frees all of them. Or so it was intended.
 */
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/mutex.h>

struct tally {
	struct mutex lock;
	unsigned int size;
	unsigned int used;
};

static struct tally tally = { .lock = __MUTEX_INITIALIZER(tally.lock), .size = 100 };

static inline bool tally_fits(const struct tally *t, unsigned int n)
{
	return t->used + n <= t->size;
}

static noinline int tally_add(struct tally *t, unsigned int n)
{
	int error = 0;

	mutex_lock(&t->lock);
	t->used += n;
	if (!tally_fits(t, n))
		error = -ENOSPC;
	mutex_unlock(&t->lock);
	return error;
}

static ssize_t tally_write(struct file *file, const char __user *text, size_t size, loff_t *pos)
{
	unsigned int n;
	int error = kstrtouint_from_user(text, size, 10, &n);

	if (!error)
		error = tally_add(&tally, n);
	return error ? error : size;
}

static ssize_t tally_read(struct file *file, char __user *text, size_t size, loff_t *pos)
{
	mutex_lock(&tally.lock);
	tally.used = 0;
	mutex_unlock(&tally.lock);
	return 0;
}

static const struct file_operations tally_operations = {
	.owner = THIS_MODULE,
	.read = tally_read,
	.write = tally_write,
};

static struct miscdevice tally_device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "tally",
	.fops = &tally_operations,
};
module_misc_device(tally_device);

MODULE_DESCRIPTION("the driver of the guide to kinst");
MODULE_LICENSE("GPL");
