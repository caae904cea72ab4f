/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Macros for what is built with -finstrument-functions: an inline function may be instrumented, and
 * one that must always be inlined may not, as it has no code of its own that could be compiled.
 */
#undef inline
#define inline inline __gnu_inline __inline_maybe_unused
#undef __always_inline
#define __always_inline inline __attribute__((__always_inline__)) notrace
