# tests/support/places.s: a "vmlinux" with an instruction of each kind that cannot be traced, and with the kernel's lists of places.

	.text
	.globl	_start
	.type	_start, @function
_start:
1:	call	__fentry__
	push	%rbp
2:	.byte	0x0f, 0x1f, 0x44, 0, 0
3:	call	helper
	mov	helper(%rip), %rax
	ud2
	sti
	hlt
	swapgs
	int	$0x80
	mov	%eax, %ss
	call	*(%rsp)
	vmcall
4:	mfence
	mov	helper(%eip), %eax
	jne	2b
	iretq
5:	jmp	__x86_return_thunk
	.size	_start, . - _start

	.type	helper, @function
helper:
6:	endbr64
7:	call	__fentry__
	endbr64
	ret
	.size	helper, . - helper

	.type	listed, @function
listed:
	nop
	ret
	.size	listed, . - listed

	.type	listed.cold, @function
listed.cold:
	ud2
	.size	listed.cold, . - listed.cold

	.type	exc_int3, @function
exc_int3:
	ret
	.size	exc_int3, . - exc_int3

	.type	__SCT__tp, @function
__SCT__tp:
	jmp	helper
	.size	__SCT__tp, . - __SCT__tp

	.globl	__noinstr_text_start, __noinstr_text_end
__noinstr_text_start:
	.type	quiet, @function
quiet:
	ret
	.size	quiet, . - quiet
__noinstr_text_end:

	.type	__fentry__, @function
__fentry__:
	ret
	.size	__fentry__, . - __fentry__

	.type	__x86_return_thunk, @function
__x86_return_thunk:
	ret
	int3
	.size	__x86_return_thunk, . - __x86_return_thunk

	.section .rodata, "a"
	.globl	__start_mcount_loc, __stop_mcount_loc, __start___jump_table, __stop___jump_table
	.globl	__start_static_call_sites, __stop_static_call_sites, __start_kprobe_blacklist, __stop_kprobe_blacklist
	.globl	__alt_instructions, __alt_instructions_end, __return_sites, __return_sites_end
__start_mcount_loc:
	.quad	1b, 7b
__stop_mcount_loc:
__start___jump_table:
	.long	2b - ., 0
	.quad	0
__stop___jump_table:
__start_static_call_sites:
	.long	3b - ., 0
__stop_static_call_sites:
__start_kprobe_blacklist:
	.quad	listed
__stop_kprobe_blacklist:
__alt_instructions:
	.long	4b - ., 0, 0
	.byte	3, 0
__alt_instructions_end:
__return_sites:
	.long	5b - .
__return_sites_end:
