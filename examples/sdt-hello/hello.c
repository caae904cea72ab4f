// SPDX-License-Identifier: GPL-2.0
// A driver with a static probe: dtrace -n 'hello:::tick { trace(arg0); }'
#include <linux/module.h>
#include <linux/workqueue.h>
#include <kinst/sdt.h>

static void tick(struct work_struct *work);
static DECLARE_DELAYED_WORK(ticking, tick);
static unsigned long ticks;

static void tick(struct work_struct *work)
{
	DTRACE_PROBE1(hello, tick, ++ticks);
	schedule_delayed_work(&ticking, HZ / 10);
}

static int __init hello_init(void) { return !schedule_delayed_work(&ticking, 0); }
static void __exit hello_exit(void) { cancel_delayed_work_sync(&ticking); }

module_init(hello_init);
module_exit(hello_exit);
MODULE_DESCRIPTION("Says hello to dtrace, ten times a second");
MODULE_LICENSE("GPL");
