/* SPDX-License-Identifier: GPL-2.0 */
/*
 * text/rest.h: the function whose address is in ftrace's filter when no other is.
 */
#ifndef _KINST_REST_H
#define _KINST_REST_H

void kinst_fentry_rest(void);

#endif /* _KINST_REST_H */
