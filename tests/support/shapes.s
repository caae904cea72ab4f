# Inlined copies of all shapes, made by hand: what compilers write, but not when a test wants it.
# All instructions are one byte long (nop) but for the two-byte ones that are marked.

	.text
.Ltext0:
	.globl	caller
	.type	caller, @function
caller:
	.fill	12, 1, 0x90
	xchg	%ax, %ax		# 12: two bytes, the end of a range
	.fill	18, 1, 0x90
	.size	caller, .-caller
	.globl	_start
	.type	_start, @function
_start:
	.fill	8, 1, 0x90
	.size	_start, .-_start
	.type	twice, @function
twice:
	.fill	8, 1, 0x90
	.size	twice, .-twice
	.type	same, @function
	.type	__same, @function
	.globl	same
same:
__same:
	.fill	8, 1, 0x90
	.size	same, .-same
	.size	__same, .-__same
	.fill	32, 1, 0x90		# of no function: overridden weak code
.Ldead = . - 16
	.type	inl.isra.0, @function
inl.isra.0:
	.fill	8, 1, 0x90
	.size	inl.isra.0, .-inl.isra.0
	.type	inl.part.0, @function
inl.part.0:
	.fill	8, 1, 0x90
	.size	inl.part.0, .-inl.part.0
.Letext0:

	.section	.init.text, "ax", @progbits
	.type	early, @function
early:
	.fill	8, 1, 0x90
	.size	early, .-early

	.section	.debug_abbrev, "", @progbits
.Labbrev:
	.macro	attr name, form
	.uleb128 \name
	.uleb128 \form
	.endm
	.macro	abbrev code, tag, children
	.uleb128 \code
	.uleb128 \tag
	.byte	\children
	.endm
	abbrev	1, 0x11, 1		# compile_unit
	attr	0x13, 0x0b		# language, data1
	attr	0x11, 0x01		# low_pc, addr
	attr	0, 0
	abbrev	2, 0x2e, 0		# subprogram: abstract
	attr	0x03, 0x08		# name, string
	attr	0x3b, 0x0b		# decl_line
	attr	0x20, 0x0b		# inline
	attr	0, 0
	abbrev	3, 0x2e, 1		# subprogram: concrete
	attr	0x03, 0x08
	attr	0x11, 0x01
	attr	0x12, 0x07		# high_pc, data8
	attr	0, 0
	abbrev	4, 0x1d, 0		# inlined_subroutine: entry and ranges
	attr	0x31, 0x13		# abstract_origin, ref4
	attr	0x52, 0x01		# entry_pc, addr
	attr	0x55, 0x17		# ranges, sec_offset
	attr	0x59, 0x0b		# call_line
	attr	0, 0
	abbrev	5, 0x1d, 1		# inlined_subroutine: low and high, children
	attr	0x31, 0x13
	attr	0x11, 0x01
	attr	0x12, 0x07
	attr	0x59, 0x0b
	attr	0, 0
	abbrev	6, 0x1d, 0		# inlined_subroutine: low and high
	attr	0x31, 0x13
	attr	0x11, 0x01
	attr	0x12, 0x07
	attr	0x59, 0x0b
	attr	0, 0
	abbrev	7, 0x1d, 0		# inlined_subroutine: nothing but a line
	attr	0x31, 0x13
	attr	0x59, 0x0b
	attr	0, 0
	abbrev	8, 0x2e, 0		# subprogram: declaration
	attr	0x03, 0x08
	attr	0x3c, 0x19		# declaration, flag_present
	attr	0, 0
	abbrev	9, 0x0b, 1		# lexical_block
	attr	0, 0
	abbrev	10, 0x1d, 0		# inlined_subroutine: ranges without entry_pc
	attr	0x31, 0x13
	attr	0x55, 0x17
	attr	0x59, 0x0b
	attr	0, 0
	.byte	0
.Labbrev2:
	abbrev	1, 0x11, 1
	attr	0x13, 0x0b
	attr	0x11, 0x01
	attr	0, 0
	abbrev	2, 0x2e, 1		# subprogram: concrete
	attr	0x03, 0x08
	attr	0x11, 0x01
	attr	0x12, 0x07
	attr	0, 0
	abbrev	3, 0x1d, 0		# inlined_subroutine of another unit, entry_pc as a distance
	attr	0x31, 0x10		# abstract_origin, ref_addr
	attr	0x52, 0x0b		# entry_pc, data1
	attr	0x11, 0x01
	attr	0x12, 0x07
	attr	0x59, 0x0b
	attr	0, 0
	.byte	0

	.section	.debug_rnglists, "", @progbits
	.long	.Lrngend - .Lrngver
.Lrngver:
	.value	5
	.byte	8, 0
	.long	0
.Lbackwards:				# the second fragment is where the copy is entered
	.byte	6			# start_end
	.quad	caller + 16
	.quad	caller + 20
	.byte	6
	.quad	caller + 8
	.quad	caller + 14
	.byte	0
.Lempty:
	.byte	6
	.quad	caller + 24
	.quad	caller + 24
	.byte	0
.Lhoisted:				# the first range has no bytes and is where the copy is entered
	.byte	6
	.quad	caller + 21
	.quad	caller + 21
	.byte	6
	.quad	caller + 22
	.quad	caller + 24
	.byte	0
.Ltouching:				# two ranges that are one
	.byte	6
	.quad	same
	.quad	same + 2
	.byte	6
	.quad	same + 2
	.quad	same + 4
	.byte	0
.Lrngend:

	.section	.debug_info, "", @progbits
.Linfo:
.Lunit1:
	.long	.Lend1 - .Lver1
.Lver1:
	.value	5
	.byte	1, 8			# DW_UT_compile, address size
	.long	.Labbrev
	.uleb128 1
	.byte	0x1d			# C11
	.quad	0
	# A copy before the definition that it is of.
	.uleb128 3
	.asciz	"caller"
	.quad	caller
	.quad	32
	.uleb128 4
	.long	.Linl - .Lunit1
	.quad	caller + 8
	.long	.Lbackwards
	.byte	20
	.uleb128 9			# a block is no function
	.uleb128 4
	.long	.Linl - .Lunit1
	.quad	caller + 24
	.long	.Lempty
	.byte	21
	.byte	0
	.uleb128 4			# again at the same address
	.long	.Linl - .Lunit1
	.quad	caller + 24
	.long	.Lempty
	.byte	22
	.uleb128 5
	.long	.Linl - .Lunit1
	.quad	caller + 26
	.quad	4
	.byte	23
	.uleb128 9
	.uleb128 6			# the second half of the split function: on the line of its declaration
	.long	.Linl - .Lunit1
	.quad	caller + 27
	.quad	1
	.byte	10
	.byte	0
	.uleb128 6			# true recursion
	.long	.Linl - .Lunit1
	.quad	caller + 28
	.quad	2
	.byte	12
	.byte	0
	.uleb128 6
	.long	.Linl - .Lunit1
	.quad	.Ldead
	.quad	4
	.byte	24
	.uleb128 10
	.long	.Linl_hoisted - .Lunit1
	.long	.Lhoisted
	.byte	29
	.uleb128 7			# no address at all
	.long	.Linl - .Lunit1
	.byte	25
	.byte	0
	.uleb128 3
	.asciz	"early"
	.quad	early
	.quad	8
	.uleb128 6
	.long	.Linl - .Lunit1
	.quad	early + 2
	.quad	2
	.byte	26
	.byte	0
	.uleb128 3
	.asciz	"twice"
	.quad	twice
	.quad	8
	.uleb128 6
	.long	.Lnamesake - .Lunit1
	.quad	twice + 1
	.quad	2
	.byte	27
	.byte	0
	.uleb128 3
	.asciz	"same"
	.quad	same
	.quad	8
	.uleb128 4
	.long	.Laliased - .Lunit1
	.quad	same
	.long	.Ltouching
	.byte	28
	.byte	0
.Linl:
	.uleb128 2
	.asciz	"inl"
	.byte	10, 1
.Linl_hoisted:
	.uleb128 2
	.asciz	"hoisted"
	.byte	14, 1
.Lnamesake:
	.uleb128 2
	.asciz	"in_twice"
	.byte	11, 1
.Laliased:
	.uleb128 2
	.asciz	"aliased"
	.byte	12, 1
	.uleb128 2
	.asciz	"unused_inline"
	.byte	13, 1
	.uleb128 8
	.asciz	"only_declared"
	.byte	0
.Lend1:
.Lunit2:
	.long	.Lend2 - .Lver2
.Lver2:
	.value	5
	.byte	1, 8
	.long	.Labbrev2
	.uleb128 1
	.byte	0x1d
	.quad	0
	.uleb128 2
	.asciz	"_start"
	.quad	_start
	.quad	8
	.uleb128 3
	.long	.Linl - .Linfo
	.byte	3
	.quad	_start + 1
	.quad	4
	.byte	30
	.byte	0
	.byte	0
.Lend2:
	.section	.note.GNU-stack, "", @progbits
