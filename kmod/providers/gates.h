/* SPDX-License-Identifier: GPL-2.0 */
/* providers/gates.h: the gates of drivers' static probes, held open by sessions; process context. */
#ifndef _KINST_GATES_H
#define _KINST_GATES_H

#include <linux/types.h>
#include "include/uapi/kinst.h"

struct kinst_gates;

/* Opens the gates among the probes; res[i] is the result for probe i. NULL: there are none. */
struct kinst_gates *kinst_gates_arm(const struct kinst_probe *probes, u32 n, struct kinst_result *res);

/* The mirror; takes NULL. */
void kinst_gates_disarm(struct kinst_gates *gates);

int kinst_gates_init(void);
void kinst_gates_exit(void);

#endif /* _KINST_GATES_H */
