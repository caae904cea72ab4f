/* Static probes in the format of <sys/sdt.h>, which tracers of Linux read. Headers of several providers share it. */
#ifndef KINST_USDT
#define KINST_USDT 1

#if !defined __GNUC__ || !defined __ELF__
#error "static probes need a compiler that knows the extensions of GNU C, and ELF"
#endif

#if __SIZEOF_POINTER__ == 8
#define KINST_USDT_ADDRESS ".8byte "
#else
#define KINST_USDT_ADDRESS ".4byte "
#endif

/* A note with the address of a nop, and with the operands that the compiler chooses for the arguments. */
#define KINST_USDT_NOTE(provider, name, arguments)                                                                     \
	"990:	nop\n"                                                                                                 \
	"	.pushsection .note.stapsdt,\"?\",\"note\"\n"                                                           \
	"	.balign 4\n"                                                                                           \
	"	.4byte 992f-991f, 994f-993f, 3\n"                                                                      \
	"991:	.asciz \"stapsdt\"\n"                                                                                  \
	"992:	.balign 4\n"                                                                                           \
	"993:	" KINST_USDT_ADDRESS "990b\n"                                                                          \
	"	" KINST_USDT_ADDRESS "_.stapsdt.base\n"                                                                \
	"	" KINST_USDT_ADDRESS #provider "_" #name "_semaphore\n"                                                \
	"	.asciz \"" #provider "\"\n"                                                                            \
	"	.asciz \"" #name "\"\n"                                                                                \
	"	.asciz \"" arguments "\"\n"                                                                            \
	"994:	.balign 4\n"                                                                                           \
	"	.popsection\n"                                                                                         \
	"	.ifndef _.stapsdt.base\n"                                                                              \
	"	.pushsection .stapsdt.base,\"aG\",\"progbits\",.stapsdt.base,comdat\n"                                 \
	"	.weak _.stapsdt.base\n"                                                                                \
	"	.hidden _.stapsdt.base\n"                                                                              \
	"_.stapsdt.base:\n"                                                                                            \
	"	.space 1\n"                                                                                            \
	"	.size _.stapsdt.base, 1\n"                                                                             \
	"	.popsection\n"                                                                                         \
	"	.endif\n"

/* An argument keeps its size and its sign. An array is passed as its address. */
#ifdef __cplusplus
extern "C++" {
template <typename T> struct kinst_usdt_sign { enum { value = 1 }; };
template <> struct kinst_usdt_sign<char> { enum { value = (char)-1 < 0 ? -1 : 1 }; };
template <> struct kinst_usdt_sign<signed char> { enum { value = -1 }; };
template <> struct kinst_usdt_sign<short> { enum { value = -1 }; };
template <> struct kinst_usdt_sign<int> { enum { value = -1 }; };
template <> struct kinst_usdt_sign<long> { enum { value = -1 }; };
template <> struct kinst_usdt_sign<long long> { enum { value = -1 }; };
}
#define KINST_USDT_LET(n, x) auto kinst_usdt_value##n = (x)
#define KINST_USDT_SIGN(x) ((int)kinst_usdt_sign<__typeof__(x)>::value)
#else
#define KINST_USDT_LET(n, x) __extension__ __auto_type kinst_usdt_value##n = (x)
#define KINST_USDT_SIGN(x)                                                                                             \
	__extension__ _Generic((x), char: (char)-1 < 0 ? -1 : 1, signed char: -1, short: -1, int: -1, long: -1,    \
			       long long: -1, default: 1)
#endif

/* The note has -4 for a signed integer of four bytes: %n prints the negated number. */
#define KINST_USDT_ARGUMENT(n) "%n[kinst_size" #n "]@%[kinst_value" #n "]"
#define KINST_USDT_OPERANDS(n)                                                                                         \
	[kinst_size##n] "n"(-(int)sizeof(kinst_usdt_value##n) * KINST_USDT_SIGN(kinst_usdt_value##n)),                 \
		[kinst_value##n] "nor"(kinst_usdt_value##n)
#endif
