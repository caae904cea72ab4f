/* SPDX-License-Identifier: GPL-2.0 */
/* objtool.h: nobody checks objects in user space. */
#define ANNOTATE_NOENDBR
