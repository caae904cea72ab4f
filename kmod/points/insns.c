// SPDX-License-Identifier: GPL-2.0
/*
 * points/insns.c: the instructions of a function, with the reasons against each, for user space (KINST_IOC_INSNS).
 */
#include <linux/mutex.h>
#include <linux/string.h>

#include "patch/patch.h"
#include "places/read.h"
#include "points/insns.h"
#include "text/locks.h"

int kinst_points_insns(u64 func, struct kinst_insn *buf, u32 count, struct kinst_insns *info)
{
	struct kinst_func *f;
	u32 i;

	if (mutex_lock_killable(&kinst_sites_mutex))
		return -EINTR;
	kinst_patch_lock();
	f = kinst_func_get(func);
	kinst_patch_unlock();
	mutex_unlock(&kinst_sites_mutex);
	if (!f)
		return -ENOMEM;
	info->reason = f->reason;
	info->size = f->size;
	info->count = f->reason ? 0 : f->ninsns;
	for (i = 0; i < info->count && i < count; i++) {
		memset(&buf[i], 0, sizeof(buf[i]));
		buf[i].offset = f->insns[i].offset;
		buf[i].len = f->insns[i].len;
		buf[i].flags = f->insns[i].flags;
		buf[i].reason = kinst_func_is_fentry(f, &f->insns[i]) ? KINST_OK : f->insns[i].reason;
		memcpy(buf[i].bytes, f->text + f->insns[i].offset, f->insns[i].len);
	}
	kinst_func_put(f);
	return 0;
}
