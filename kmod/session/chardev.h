/* SPDX-License-Identifier: GPL-2.0 */
/* session/chardev.h: /dev/dtrace/kinst, while the module is loaded. */
#ifndef _KINST_CHARDEV_H
#define _KINST_CHARDEV_H

int kinst_chardev_init(void);
void kinst_chardev_exit(void);

#endif /* _KINST_CHARDEV_H */
