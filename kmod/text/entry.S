/* SPDX-License-Identifier: GPL-2.0 */
/*
 * text/entry.S: the common entry of all detours, which calls the hit handler in text/jump.c.
 */
#include <machine/detour.h>

KINST_DETOUR_ENTRY kinst_jump_entry, kinst_jump_quiet, kinst_jump_hit

	.section .note.GNU-stack, "", @progbits
