/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * kinst/sdt.h: probes of a driver's own, for dtrace(1). A driver with them needs nothing of kinst to build, load or run.
 *
 *   DTRACE_PROBE(provider, name)                 a probe without arguments
 *   DTRACE_PROBE1(provider, name, a) … 6         with one to six: numbers and pointers
 *   DTRACE_PROBE_ENABLED(provider, name)         whether the probe is traced, for arguments that cost something
 *   DTRACE_PROBE_TYPES(provider, name, "t", …)   the types of args[], as text; once, in any function with code
 *
 * Names are words of C; `__` in a probe's name is `-` in D: DTRACE_PROBE(hello, tick__done) is hello:::tick-done.
 *
 * A probe is one nop of five bytes, and a note in the section .note.kinst.sdt, which the kernel keeps and shows as
 * /sys/module/NAME/notes/.note.kinst.sdt. Everyone can read that file: addresses in it are distances from the field that
 * they are in, so that it does not tell where the kernel is. x86-64 only.
 *
 * Layout of a note: the ELF header (name "kinst", type), then
 *   probe (1)  __s32 distance of the nop; __u8 arguments; for each: __u8 kind, __u8 bytes, __u8 n, n bytes of an instruction
 *              that would load it into the accumulator; provider, name
 *   gate (2)   __s32 distance of a struct kinst_sdt_gate; provider, name
 *   types (3)  provider, name, and a type for each argument, until one is empty
 * Texts end with a NUL. Kinds: 's' signed, 'u' unsigned, 'p' pointer, 'c' pointer to characters.
 */
#ifndef KINST_SDT_H
#define KINST_SDT_H

#ifndef __x86_64__
#error "kinst/sdt.h is for x86-64"
#endif

#include <linux/jump_label.h>
#include <linux/objtool.h>

/* Indirect calls never reach the nop, though data refers to it: objtool would warn. */
#ifdef ANNOTATE_NOENDBR
#define __KINST_SDT_NOP ANNOTATE_NOENDBR "\n9910:\t.byte 0x0f, 0x1f, 0x44, 0x00, 0x00\n"
#else
#define __KINST_SDT_NOP "9910:\t.byte 0x0f, 0x1f, 0x44, 0x00, 0x00\n"
#endif

#define __KINST_SDT_NOTE(type, body)                                                               \
	"\t.pushsection .note.kinst.sdt, \"a\", @note\n"                                           \
	"\t.balign 4\n"                                                                            \
	"\t.long 6, 9912f - 9911f, " #type "\n"                                                    \
	"\t.asciz \"kinst\"\n"                                                                     \
	"\t.balign 4\n"                                                                            \
	"9911:\n" body                                                                             \
	"9912:\t.balign 4\n"                                                                       \
	"\t.popsection\n"

/* A type as a function's parameter has it: an array is a pointer. */
#define __kinst_sdt_type(x) __typeof__(((void)0, (x)))

#define __kinst_sdt_kind(x)                                                                        \
	_Generic((__kinst_sdt_type(x))0,                                                           \
		char *: 'c', const char *: 'c',                                                    \
		default: __builtin_classify_type((__kinst_sdt_type(x))0) == 5 ? 'p' :              \
			 (__kinst_sdt_type(x))-1 < (__kinst_sdt_type(x))1 ? 's' : 'u')

/*
 * Each alternative is where an argument may be without an instruction for it. Clang takes memory wherever it may, and
 * would store what is in a register.
 */
#ifdef __clang__
#define __KINST_SDT_WHERE "nr"
#else
#define __KINST_SDT_WHERE "nor"
#endif

#define __kinst_sdt_arg(n, x)                                                                      \
	[a##n] __KINST_SDT_WHERE((__kinst_sdt_type(x))(x)),                                        \
	[k##n] "n"(__kinst_sdt_kind(x)), [s##n] "n"(sizeof(__kinst_sdt_type(x)))

/* The assembler writes the instruction, so that no operand has to be read as text. */
#define __KINST_SDT_ARG(n)                                                                         \
	"\t.byte %c[k" #n "], %c[s" #n "], 9914f - 9913f\n"                                        \
	"9913:\n"                                                                                  \
	"\t.if %c[s" #n "] == 8\n\tmov %[a" #n "], %%rax\n"                                        \
	"\t.elseif %c[s" #n "] == 4\n\tmov %[a" #n "], %%eax\n"                                    \
	"\t.elseif %c[s" #n "] == 2\n\tmov %[a" #n "], %%ax\n"                                     \
	"\t.else\n\tmov %[a" #n "], %%al\n\t.endif\n"                                              \
	"9914:\n"

#define __kinst_sdt_probe(provider, name, n, args, ...)                                            \
	asm volatile(__KINST_SDT_NOP                                                               \
		__KINST_SDT_NOTE(1,                                                                \
			"\t.long 9910b - .\n"                                                      \
			"\t.byte " #n "\n" args                                                    \
			"\t.asciz \"" #provider "\"\n"                                             \
			"\t.asciz \"" #name "\"\n")                                                \
		: : __VA_ARGS__)

#define DTRACE_PROBE(provider, name) __kinst_sdt_probe(provider, name, 0, "")
#define DTRACE_PROBE1(provider, name, a)                                                           \
	__kinst_sdt_probe(provider, name, 1, __KINST_SDT_ARG(0), __kinst_sdt_arg(0, a))
#define DTRACE_PROBE2(provider, name, a, b)                                                        \
	__kinst_sdt_probe(provider, name, 2, __KINST_SDT_ARG(0) __KINST_SDT_ARG(1),                \
		__kinst_sdt_arg(0, a), __kinst_sdt_arg(1, b))
#define DTRACE_PROBE3(provider, name, a, b, c)                                                     \
	__kinst_sdt_probe(provider, name, 3,                                                       \
		__KINST_SDT_ARG(0) __KINST_SDT_ARG(1) __KINST_SDT_ARG(2),                          \
		__kinst_sdt_arg(0, a), __kinst_sdt_arg(1, b), __kinst_sdt_arg(2, c))
#define DTRACE_PROBE4(provider, name, a, b, c, d)                                                  \
	__kinst_sdt_probe(provider, name, 4,                                                       \
		__KINST_SDT_ARG(0) __KINST_SDT_ARG(1) __KINST_SDT_ARG(2) __KINST_SDT_ARG(3),       \
		__kinst_sdt_arg(0, a), __kinst_sdt_arg(1, b), __kinst_sdt_arg(2, c),               \
		__kinst_sdt_arg(3, d))
#define DTRACE_PROBE5(provider, name, a, b, c, d, e)                                               \
	__kinst_sdt_probe(provider, name, 5,                                                       \
		__KINST_SDT_ARG(0) __KINST_SDT_ARG(1) __KINST_SDT_ARG(2) __KINST_SDT_ARG(3)        \
		__KINST_SDT_ARG(4),                                                                \
		__kinst_sdt_arg(0, a), __kinst_sdt_arg(1, b), __kinst_sdt_arg(2, c),               \
		__kinst_sdt_arg(3, d), __kinst_sdt_arg(4, e))
#define DTRACE_PROBE6(provider, name, a, b, c, d, e, f)                                            \
	__kinst_sdt_probe(provider, name, 6,                                                       \
		__KINST_SDT_ARG(0) __KINST_SDT_ARG(1) __KINST_SDT_ARG(2) __KINST_SDT_ARG(3)        \
		__KINST_SDT_ARG(4) __KINST_SDT_ARG(5),                                             \
		__kinst_sdt_arg(0, a), __kinst_sdt_arg(1, b), __kinst_sdt_arg(2, c),               \
		__kinst_sdt_arg(3, d), __kinst_sdt_arg(4, e), __kinst_sdt_arg(5, f))

/* The gate that kinst.ko opens while the probe is traced, if the magic is right and the key has a jump label. */
struct kinst_sdt_gate {
	unsigned long long magic;
	struct static_key_false key;
};

#define KINST_SDT_GATE 0x657461672d746473ull /* "sdt-gate" */

#define DTRACE_PROBE_ENABLED(provider, name)                                                       \
	({                                                                                         \
		static struct kinst_sdt_gate kinst_sdt_gate = { KINST_SDT_GATE,                    \
								STATIC_KEY_FALSE_INIT };           \
		asm volatile(__KINST_SDT_NOTE(2,                                                   \
				"\t.long %c0 - .\n"                                                \
				"\t.asciz \"" #provider "\"\n"                                     \
				"\t.asciz \"" #name "\"\n")                                        \
			: : "i"(&kinst_sdt_gate));                                                 \
		static_branch_unlikely(&kinst_sdt_gate.key);                                       \
	})

#define __kinst_sdt_types(provider, name, a, b, c, d, e, f, ...)                                   \
	asm volatile(__KINST_SDT_NOTE(3,                                                           \
		"\t.asciz \"" #provider "\"\n"                                                     \
		"\t.asciz \"" #name "\"\n"                                                         \
		"\t.asciz \"" a "\"\n\t.asciz \"" b "\"\n\t.asciz \"" c "\"\n"                     \
		"\t.asciz \"" d "\"\n\t.asciz \"" e "\"\n\t.asciz \"" f "\"\n") : : )
#define DTRACE_PROBE_TYPES(provider, name, ...)                                                    \
	__kinst_sdt_types(provider, name, __VA_ARGS__, "", "", "", "", "", "")

#endif
