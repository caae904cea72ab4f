	.file	"copies.c"
	.text
.Ltext0:
	.cfi_sections	.debug_frame
	.file 0 "/kernel" "copies.c"
	.p2align 4
	.globl	submit
	.type	submit, @function
submit:
.LVL0:
.LFB3:
	.file 1 "copies.c"
	.loc 1 59 1 view -0
	.cfi_startproc
	.loc 1 60 2 view .LVU1
	.loc 1 59 1 is_stmt 0 view .LVU2
	pushq	%rbx
	.cfi_def_cfa_offset 16
	.cfi_offset 3, -16
	.loc 1 60 17 view .LVU3
	movl	%edx, %eax
	pxor	%xmm0, %xmm0
	andl	$1, %eax
	.loc 1 59 1 view .LVU4
	subq	$48, %rsp
	.cfi_def_cfa_offset 64
	.loc 1 61 33 view .LVU5
	movd	calls(%rip), %xmm1
	.loc 1 60 17 view .LVU6
	movaps	%xmm0, 16(%rsp)
	movaps	%xmm0, 32(%rsp)
	.loc 1 61 33 view .LVU7
	movd	%edx, %xmm0
	.loc 1 65 18 view .LVU8
	leaq	32(%rsp), %rdx
.LVL1:
	.loc 1 60 17 view .LVU9
	movb	%al, 16(%rsp)
	.loc 1 61 33 view .LVU10
	punpckldq	%xmm1, %xmm0
.LVL2:
	.loc 1 60 17 view .LVU11
	movq	%rsi, 24(%rsp)
	.loc 1 61 2 is_stmt 1 view .LVU12
	.loc 1 61 33 is_stmt 0 view .LVU13
	xorl	%esi, %esi
.LVL3:
	.loc 1 61 33 view .LVU14
	movq	%xmm0, 8(%rsp)
	.loc 1 62 2 is_stmt 1 view .LVU15
	.loc 1 64 2 view .LVU16
.LVL4:
	.loc 1 64 29 view .LVU17
	.p2align 4,,10
	.p2align 3
.L2:
	.loc 1 64 36 is_stmt 0 discriminator 3 view .LVU18
	movzbl	(%rdi,%rsi), %eax
	.loc 1 64 29 discriminator 3 view .LVU19
	testb	%al, %al
	je	.L10
	.loc 1 65 3 is_stmt 1 discriminator 4 view .LVU20
	.loc 1 65 18 is_stmt 0 discriminator 4 view .LVU21
	movb	%al, (%rdx,%rsi)
	.loc 1 64 50 is_stmt 1 discriminator 4 view .LVU22
.LVL5:
	.loc 1 64 29 discriminator 4 view .LVU23
	addq	$1, %rsi
.LVL6:
	.loc 1 64 29 is_stmt 0 discriminator 4 view .LVU24
	cmpq	$15, %rsi
	jne	.L2
	movl	$15, %ebx
.LVL7:
.L3:
	.loc 1 66 2 is_stmt 1 view .LVU25
	leaq	16(%rsp), %rdi
.LVL8:
	.loc 1 66 2 is_stmt 0 view .LVU26
	movq	%rbx, %rsi
	call	effect@PLT
.LVL9:
	.loc 1 67 2 is_stmt 1 view .LVU27
	leaq	8(%rsp), %rdi
	movq	%rbx, %rsi
	call	effect@PLT
.LVL10:
	.loc 1 68 2 view .LVU28
.LBB14:
.LBI14:
	.loc 1 39 50 view .LVU29
.LBB15:
	.loc 1 41 2 view .LVU30
	.loc 1 42 2 view .LVU31
	.loc 1 44 2 view .LVU32
	.loc 1 44 5 is_stmt 0 view .LVU33
	cmpq	$4096, 24(%rsp)
	ja	.L5
.LVL11:
	.loc 1 44 5 view .LVU34
.LBE15:
.LBE14:
	.loc 1 70 2 is_stmt 1 view .LVU35
	.loc 1 71 11 is_stmt 0 view .LVU36
	movl	20(%rsp), %eax
	.loc 1 70 7 view .LVU37
	addl	$1, calls(%rip)
	.loc 1 71 2 is_stmt 1 view .LVU38
	.loc 1 72 1 is_stmt 0 view .LVU39
	addq	$48, %rsp
	.cfi_remember_state
	.cfi_def_cfa_offset 16
	popq	%rbx
	.cfi_def_cfa_offset 8
	ret
.LVL12:
	.p2align 4,,10
	.p2align 3
.L10:
	.cfi_restore_state
	.loc 1 66 2 view .LVU40
	movslq	%esi, %rbx
	jmp	.L3
.LVL13:
	.p2align 4,,10
	.p2align 3
.L5:
.LBB17:
.LBB16:
	.loc 1 45 3 is_stmt 1 view .LVU41
	.loc 1 46 3 is_stmt 0 view .LVU42
	movl	$4096, %esi
	leaq	refused.0(%rip), %rdi
	.loc 1 45 10 view .LVU43
	addl	$1, refused.0(%rip)
	.loc 1 46 3 is_stmt 1 view .LVU44
	call	effect@PLT
.LVL14:
	.loc 1 47 3 view .LVU45
	.loc 1 47 3 is_stmt 0 view .LVU46
.LBE16:
.LBE17:
	.loc 1 69 3 is_stmt 1 view .LVU47
	.loc 1 72 1 is_stmt 0 view .LVU48
	addq	$48, %rsp
	.cfi_def_cfa_offset 16
	.loc 1 69 10 view .LVU49
	movl	$-1, %eax
	.loc 1 72 1 view .LVU50
	popq	%rbx
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
.LFE3:
	.size	submit, .-submit
	.p2align 4
	.globl	resubmit
	.type	resubmit, @function
resubmit:
.LVL15:
.LFB4:
	.loc 1 75 1 is_stmt 1 view -0
	.cfi_startproc
	.loc 1 76 2 view .LVU52
	.loc 1 75 1 is_stmt 0 view .LVU53
	pushq	%r13
	.cfi_def_cfa_offset 16
	.cfi_offset 13, -16
	movq	%rsi, %r13
.LVL16:
.LBB18:
.LBI18:
	.loc 1 39 50 is_stmt 1 view .LVU54
.LBB19:
	.loc 1 41 2 view .LVU55
	.loc 1 42 2 view .LVU56
.LBB20:
.LBI20:
	.loc 1 32 50 view .LVU57
.LBB21:
	.loc 1 34 2 view .LVU58
.LBE21:
.LBE20:
.LBE19:
.LBE18:
	.loc 1 75 1 is_stmt 0 view .LVU59
	pushq	%r12
	.cfi_def_cfa_offset 24
	.cfi_offset 12, -24
	pushq	%rbp
	.cfi_def_cfa_offset 32
	.cfi_offset 6, -32
	movq	%rdi, %rbp
	pushq	%rbx
	.cfi_def_cfa_offset 40
	.cfi_offset 3, -40
	subq	$8, %rsp
	.cfi_def_cfa_offset 48
.LBB28:
.LBB26:
.LBB24:
.LBB22:
	.loc 1 34 5 view .LVU60
	addq	$1, %rdx
.LVL17:
	.loc 1 34 5 view .LVU61
	movq	%rdx, %rbx
	js	.L16
.LVL18:
.L12:
	.loc 1 36 2 is_stmt 1 view .LVU62
	.loc 1 36 16 is_stmt 0 view .LVU63
	testq	%rbx, %rbx
	setg	%r12b
	setg	%sil
	movzbl	%r12b, %r12d
.LVL19:
	.loc 1 36 16 view .LVU64
.LBE22:
.LBE24:
	.loc 1 44 2 is_stmt 1 view .LVU65
	.loc 1 44 5 is_stmt 0 view .LVU66
	cmpq	8(%r13), %rbx
	jb	.L13
.LBE26:
.LBE28:
	.loc 1 78 2 view .LVU67
	movzbl	%sil, %esi
.LVL20:
.L14:
	.loc 1 78 2 is_stmt 1 view .LVU68
	movq	%rbp, %rdi
	call	effect@PLT
.LVL21:
	.loc 1 79 2 view .LVU69
	.loc 1 79 14 is_stmt 0 view .LVU70
	movl	8(%rbp), %eax
	.loc 1 80 1 view .LVU71
	addq	$8, %rsp
	.cfi_remember_state
	.cfi_def_cfa_offset 40
	popq	%rbx
	.cfi_def_cfa_offset 32
.LVL22:
	.loc 1 80 1 view .LVU72
	popq	%rbp
	.cfi_def_cfa_offset 24
.LVL23:
	.loc 1 79 14 view .LVU73
	addl	%r12d, %eax
	.loc 1 80 1 view .LVU74
	popq	%r12
	.cfi_def_cfa_offset 16
.LVL24:
	.loc 1 80 1 view .LVU75
	popq	%r13
	.cfi_def_cfa_offset 8
.LVL25:
	.loc 1 80 1 view .LVU76
	ret
.LVL26:
	.p2align 4,,10
	.p2align 3
.L16:
	.cfi_restore_state
.LBB29:
.LBB27:
.LBB25:
.LBB23:
	.loc 1 35 3 is_stmt 1 view .LVU77
	movq	%rdx, %rsi
.LVL27:
	.loc 1 35 3 is_stmt 0 view .LVU78
	xorl	%edi, %edi
.LVL28:
	.loc 1 35 3 view .LVU79
	call	effect@PLT
.LVL29:
	.loc 1 35 3 view .LVU80
	jmp	.L12
.LVL30:
	.p2align 4,,10
	.p2align 3
.L13:
	.loc 1 35 3 view .LVU81
.LBE23:
.LBE25:
	.loc 1 45 3 is_stmt 1 view .LVU82
	.loc 1 46 3 is_stmt 0 view .LVU83
	movq	%rbx, %rsi
	leaq	refused.0(%rip), %rdi
	.loc 1 45 10 view .LVU84
	addl	$1, refused.0(%rip)
	.loc 1 46 3 is_stmt 1 view .LVU85
	.loc 1 47 10 is_stmt 0 view .LVU86
	movl	$-1, %r12d
.LVL31:
	.loc 1 46 3 view .LVU87
	call	effect@PLT
.LVL32:
	.loc 1 47 3 is_stmt 1 view .LVU88
	.loc 1 47 10 is_stmt 0 view .LVU89
	movq	$-1, %rsi
	jmp	.L14
.LBE27:
.LBE29:
	.cfi_endproc
.LFE4:
	.size	resubmit, .-resubmit
	.p2align 4
	.globl	accessed
	.type	accessed, @function
accessed:
.LVL33:
.LFB5:
	.loc 1 83 1 is_stmt 1 view -0
	.cfi_startproc
	.loc 1 84 2 view .LVU91
	.loc 1 83 1 is_stmt 0 view .LVU92
	pushq	%rbp
	.cfi_def_cfa_offset 16
	.cfi_offset 6, -16
	.loc 1 84 28 view .LVU93
	movq	%rsi, %rax
	.loc 1 83 1 view .LVU94
	movq	%rsi, %rcx
	.loc 1 85 16 view .LVU95
	movl	$1, %ebp
	.loc 1 83 1 view .LVU96
	pushq	%rbx
	.cfi_def_cfa_offset 24
	.cfi_offset 3, -24
	.loc 1 84 28 view .LVU97
	shrq	$12, %rax
	.loc 1 85 16 view .LVU98
	salq	%cl, %rbp
	.loc 1 84 34 view .LVU99
	andl	$511, %eax
	.loc 1 87 2 view .LVU100
	movq	%rbp, %rsi
.LVL34:
	.loc 1 83 1 view .LVU101
	subq	$8, %rsp
	.cfi_def_cfa_offset 32
	.loc 1 84 8 view .LVU102
	movq	(%rdi,%rax,8), %rbx
.LVL35:
	.loc 1 85 2 is_stmt 1 view .LVU103
	.loc 1 87 2 view .LVU104
	.loc 1 87 9 is_stmt 0 view .LVU105
	addq	$8, %rdi
.LVL36:
	.loc 1 87 2 view .LVU106
	call	effect@PLT
.LVL37:
	.loc 1 88 2 is_stmt 1 view .LVU107
.LBB30:
.LBI30:
	.loc 1 52 60 view .LVU108
.LBB31:
	.loc 1 54 2 view .LVU109
	.loc 1 54 2 is_stmt 0 view .LVU110
.LBE31:
.LBE30:
	.loc 1 89 1 view .LVU111
	addq	$8, %rsp
	.cfi_def_cfa_offset 24
.LBB33:
.LBB32:
	.loc 1 54 18 view .LVU112
	shrq	$5, %rbx
	.loc 1 54 28 view .LVU113
	andl	$1, %ebx
.LBE32:
.LBE33:
	.loc 1 88 23 view .LVU114
	leaq	(%rbx,%rbp), %rax
	.loc 1 89 1 view .LVU115
	popq	%rbx
	.cfi_def_cfa_offset 16
	popq	%rbp
	.cfi_def_cfa_offset 8
.LVL38:
	.loc 1 89 1 view .LVU116
	ret
	.cfi_endproc
.LFE5:
	.size	accessed, .-accessed
	.p2align 4
	.globl	summed
	.type	summed, @function
summed:
.LVL39:
.LFB6:
	.loc 1 97 1 is_stmt 1 view -0
	.cfi_startproc
.LBB34:
	.loc 1 99 3 view .LVU118
	.loc 1 101 3 view .LVU119
.LBE34:
	.loc 1 97 1 is_stmt 0 view .LVU120
	pushq	%rbx
	.cfi_def_cfa_offset 16
	.cfi_offset 3, -16
	movq	%rdi, %rbx
.LBB35:
	.loc 1 101 3 view .LVU121
	movq	%rbx, %rsi
.LBE35:
	.loc 1 97 1 view .LVU122
	subq	$20000, %rsp
	.cfi_def_cfa_offset 20016
.LBB36:
	.loc 1 101 3 view .LVU123
	movq	%rsp, %rdi
.LVL40:
	.loc 1 101 3 view .LVU124
	call	effect@PLT
.LVL41:
	.loc 1 102 3 is_stmt 1 view .LVU125
	.loc 1 102 18 is_stmt 0 view .LVU126
	movsbq	(%rsp,%rbx), %rax
.LBE36:
	.loc 1 104 2 view .LVU127
	xorl	%edi, %edi
.LBB37:
	.loc 1 102 6 view .LVU128
	addq	%rax, %rbx
.LVL42:
	.loc 1 102 6 view .LVU129
.LBE37:
	.loc 1 104 2 is_stmt 1 view .LVU130
	movq	%rbx, %rsi
	call	effect@PLT
.LVL43:
	.loc 1 105 2 view .LVU131
	.loc 1 106 1 is_stmt 0 view .LVU132
	addq	$20000, %rsp
	.cfi_def_cfa_offset 16
	movq	%rbx, %rax
	popq	%rbx
	.cfi_def_cfa_offset 8
.LVL44:
	.loc 1 106 1 view .LVU133
	ret
	.cfi_endproc
.LFE6:
	.size	summed, .-summed
	.local	refused.0
	.comm	refused.0,4,4
	.local	calls
	.comm	calls,4,4
.Letext0:
	.section	.debug_info,"",@progbits
.Ldebug_info0:
	.long	0x5b9
	.value	0x5
	.byte	0x1
	.byte	0x8
	.long	.Ldebug_abbrev0
	.uleb128 0x18
	.long	.LASF38
	.byte	0x1d
	.long	.LASF0
	.long	.LASF1
	.quad	.Ltext0
	.quad	.Letext0-.Ltext0
	.long	.Ldebug_line0
	.uleb128 0xf
	.long	.LASF15
	.byte	0x7
	.byte	0x17
	.long	0x39
	.uleb128 0x6
	.byte	0x8
	.byte	0x7
	.long	.LASF4
	.uleb128 0xb
	.long	.LASF6
	.byte	0x10
	.byte	0x9
	.byte	0x8
	.long	0x71
	.uleb128 0x3
	.long	.LASF2
	.byte	0xa
	.byte	0x10
	.long	0x78
	.byte	0
	.uleb128 0xc
	.string	"pid"
	.byte	0xb
	.byte	0x6
	.long	0x7d
	.byte	0x8
	.uleb128 0x3
	.long	.LASF3
	.byte	0xc
	.byte	0x6
	.long	0x7d
	.byte	0xc
	.byte	0
	.uleb128 0x6
	.byte	0x8
	.byte	0x5
	.long	.LASF5
	.uleb128 0x19
	.long	0x71
	.uleb128 0x1a
	.byte	0x4
	.byte	0x5
	.string	"int"
	.uleb128 0xb
	.long	.LASF7
	.byte	0x20
	.byte	0xf
	.byte	0x8
	.long	0xcd
	.uleb128 0x10
	.long	.LASF8
	.byte	0x10
	.long	0xcd
	.byte	0x1
	.byte	0
	.uleb128 0x10
	.long	.LASF9
	.byte	0x11
	.long	0xcd
	.byte	0x7
	.byte	0x1
	.uleb128 0x3
	.long	.LASF10
	.byte	0x12
	.byte	0x6
	.long	0x7d
	.byte	0x4
	.uleb128 0x3
	.long	.LASF11
	.byte	0x13
	.byte	0x9
	.long	0x2e
	.byte	0x8
	.uleb128 0x3
	.long	.LASF12
	.byte	0x14
	.byte	0x7
	.long	0xd4
	.byte	0x10
	.byte	0
	.uleb128 0x6
	.byte	0x4
	.byte	0x7
	.long	.LASF13
	.uleb128 0x11
	.long	0xe4
	.long	0xe4
	.uleb128 0x1b
	.long	0x39
	.byte	0xf
	.byte	0
	.uleb128 0x6
	.byte	0x1
	.byte	0x6
	.long	.LASF14
	.uleb128 0x1c
	.long	0xe4
	.uleb128 0x1d
	.byte	0x8
	.byte	0x1
	.byte	0x17
	.byte	0x9
	.long	0x106
	.uleb128 0xc
	.string	"pte"
	.byte	0x18
	.byte	0x10
	.long	0x39
	.byte	0
	.byte	0
	.uleb128 0xf
	.long	.LASF16
	.byte	0x19
	.byte	0x3
	.long	0xf0
	.uleb128 0x7
	.long	.LASF19
	.byte	0x1d
	.byte	0xc
	.long	0x7d
	.uleb128 0x9
	.byte	0x3
	.quad	calls
	.uleb128 0x1e
	.long	.LASF17
	.value	0x4e20
	.byte	0x1
	.byte	0x5c
	.byte	0x8
	.long	0x141
	.uleb128 0x3
	.long	.LASF18
	.byte	0x5d
	.byte	0x7
	.long	0x141
	.byte	0
	.byte	0
	.uleb128 0x11
	.long	0xe4
	.long	0x152
	.uleb128 0x1f
	.long	0x39
	.value	0x4e1f
	.byte	0
	.uleb128 0x20
	.long	.LASF39
	.byte	0x1
	.byte	0x1b
	.byte	0xd
	.long	0x169
	.uleb128 0x12
	.long	0x169
	.uleb128 0x12
	.long	0x71
	.byte	0
	.uleb128 0x21
	.byte	0x8
	.uleb128 0x8
	.long	.LASF21
	.byte	0x60
	.byte	0x6
	.long	0x71
	.quad	.LFB6
	.quad	.LFE6-.LFB6
	.uleb128 0x1
	.byte	0x9c
	.long	0x1ee
	.uleb128 0x13
	.string	"at"
	.byte	0x60
	.byte	0x12
	.long	0x71
	.long	.LLST25
	.long	.LVUS25
	.uleb128 0x22
	.long	.LLRL26
	.long	0x1d4
	.uleb128 0x7
	.long	.LASF20
	.byte	0x63
	.byte	0x10
	.long	0x126
	.uleb128 0x4
	.byte	0x91
	.sleb128 -20016
	.uleb128 0x2
	.quad	.LVL41
	.long	0x152
	.uleb128 0x1
	.uleb128 0x1
	.byte	0x55
	.uleb128 0x4
	.byte	0x91
	.sleb128 -20016
	.uleb128 0x1
	.uleb128 0x1
	.byte	0x54
	.uleb128 0x2
	.byte	0x73
	.sleb128 0
	.byte	0
	.byte	0
	.uleb128 0x2
	.quad	.LVL43
	.long	0x152
	.uleb128 0x1
	.uleb128 0x1
	.byte	0x55
	.uleb128 0x1
	.byte	0x30
	.uleb128 0x1
	.uleb128 0x1
	.byte	0x54
	.uleb128 0x2
	.byte	0x73
	.sleb128 0
	.byte	0
	.byte	0
	.uleb128 0x8
	.long	.LASF22
	.byte	0x52
	.byte	0xf
	.long	0x39
	.quad	.LFB5
	.quad	.LFE5-.LFB5
	.uleb128 0x1
	.byte	0x9c
	.long	0x2ad
	.uleb128 0x4
	.long	.LASF17
	.byte	0x52
	.byte	0x1f
	.long	0x2ad
	.long	.LLST18
	.long	.LVUS18
	.uleb128 0x4
	.long	.LASF23
	.byte	0x52
	.byte	0x34
	.long	0x39
	.long	.LLST19
	.long	.LVUS19
	.uleb128 0x23
	.string	"pte"
	.byte	0x1
	.byte	0x54
	.byte	0x8
	.long	0x106
	.long	.LLST20
	.long	.LVUS20
	.uleb128 0xd
	.long	.LASF24
	.byte	0x55
	.byte	0x10
	.long	0x39
	.long	.LLST21
	.long	.LVUS21
	.uleb128 0x9
	.long	0x537
	.quad	.LBI30
	.byte	.LVU108
	.long	.LLRL22
	.byte	0x58
	.byte	0x9
	.long	0x28f
	.uleb128 0x5
	.long	0x551
	.long	.LLST23
	.long	.LVUS23
	.uleb128 0x5
	.long	0x546
	.long	.LLST24
	.long	.LVUS24
	.byte	0
	.uleb128 0x2
	.quad	.LVL37
	.long	0x152
	.uleb128 0x1
	.uleb128 0x1
	.byte	0x55
	.uleb128 0x5
	.byte	0xa3
	.uleb128 0x1
	.byte	0x55
	.byte	0x23
	.uleb128 0x8
	.uleb128 0x1
	.uleb128 0x1
	.byte	0x54
	.uleb128 0x2
	.byte	0x76
	.sleb128 0
	.byte	0
	.byte	0
	.uleb128 0xa
	.long	0x106
	.uleb128 0x8
	.long	.LASF25
	.byte	0x4a
	.byte	0x5
	.long	0x7d
	.quad	.LFB4
	.quad	.LFE4-.LFB4
	.uleb128 0x1
	.byte	0x9c
	.long	0x3d9
	.uleb128 0x4
	.long	.LASF26
	.byte	0x4a
	.byte	0x22
	.long	0x3d9
	.long	.LLST8
	.long	.LVUS8
	.uleb128 0x13
	.string	"rq"
	.byte	0x4a
	.byte	0x38
	.long	0x3de
	.long	.LLST9
	.long	.LVUS9
	.uleb128 0x4
	.long	.LASF27
	.byte	0x4a
	.byte	0x41
	.long	0x71
	.long	.LLST10
	.long	.LVUS10
	.uleb128 0xd
	.long	.LASF28
	.byte	0x4c
	.byte	0x6
	.long	0x7d
	.long	.LLST11
	.long	.LVUS11
	.uleb128 0x9
	.long	0x55d
	.quad	.LBI18
	.byte	.LVU54
	.long	.LLRL12
	.byte	0x4c
	.byte	0xd
	.long	0x3c4
	.uleb128 0x5
	.long	0x576
	.long	.LLST13
	.long	.LVUS13
	.uleb128 0x5
	.long	0x56c
	.long	.LLST14
	.long	.LVUS14
	.uleb128 0x14
	.long	.LLRL12
	.uleb128 0x15
	.long	0x596
	.long	.LLST15
	.long	.LVUS15
	.uleb128 0x9
	.long	0x5a3
	.quad	.LBI20
	.byte	.LVU57
	.long	.LLRL16
	.byte	0x2a
	.byte	0xd
	.long	0x3a1
	.uleb128 0x5
	.long	0x5b0
	.long	.LLST17
	.long	.LVUS17
	.uleb128 0x2
	.quad	.LVL29
	.long	0x152
	.uleb128 0x1
	.uleb128 0x1
	.byte	0x55
	.uleb128 0x1
	.byte	0x30
	.uleb128 0x1
	.uleb128 0x1
	.byte	0x54
	.uleb128 0x2
	.byte	0x73
	.sleb128 0
	.byte	0
	.byte	0
	.uleb128 0x2
	.quad	.LVL32
	.long	0x152
	.uleb128 0x1
	.uleb128 0x1
	.byte	0x55
	.uleb128 0x9
	.byte	0x3
	.quad	refused.0
	.uleb128 0x1
	.uleb128 0x1
	.byte	0x54
	.uleb128 0x2
	.byte	0x73
	.sleb128 0
	.byte	0
	.byte	0
	.byte	0
	.uleb128 0x2
	.quad	.LVL21
	.long	0x152
	.uleb128 0x1
	.uleb128 0x1
	.byte	0x55
	.uleb128 0x2
	.byte	0x76
	.sleb128 0
	.byte	0
	.byte	0
	.uleb128 0xa
	.long	0x40
	.uleb128 0xa
	.long	0x84
	.uleb128 0x8
	.long	.LASF29
	.byte	0x3a
	.byte	0x5
	.long	0x7d
	.quad	.LFB3
	.quad	.LFE3-.LFB3
	.uleb128 0x1
	.byte	0x9c
	.long	0x532
	.uleb128 0x4
	.long	.LASF12
	.byte	0x3a
	.byte	0x18
	.long	0x532
	.long	.LLST0
	.long	.LVUS0
	.uleb128 0x4
	.long	.LASF11
	.byte	0x3a
	.byte	0x25
	.long	0x2e
	.long	.LLST1
	.long	.LVUS1
	.uleb128 0x4
	.long	.LASF8
	.byte	0x3a
	.byte	0x30
	.long	0x7d
	.long	.LLST2
	.long	.LVUS2
	.uleb128 0x24
	.string	"rq"
	.byte	0x1
	.byte	0x3c
	.byte	0x11
	.long	0x84
	.uleb128 0x2
	.byte	0x91
	.sleb128 -48
	.uleb128 0xb
	.long	.LASF30
	.byte	0x8
	.byte	0x3d
	.byte	0x9
	.long	0x470
	.uleb128 0xc
	.string	"low"
	.byte	0x3d
	.byte	0x14
	.long	0x7d
	.byte	0
	.uleb128 0x3
	.long	.LASF31
	.byte	0x3d
	.byte	0x19
	.long	0x7d
	.byte	0x4
	.byte	0
	.uleb128 0x7
	.long	.LASF30
	.byte	0x3d
	.byte	0x21
	.long	0x44b
	.uleb128 0x2
	.byte	0x91
	.sleb128 -56
	.uleb128 0xd
	.long	.LASF32
	.byte	0x3e
	.byte	0x6
	.long	0x7d
	.long	.LLST3
	.long	.LVUS3
	.uleb128 0x9
	.long	0x55d
	.quad	.LBI14
	.byte	.LVU29
	.long	.LLRL4
	.byte	0x44
	.byte	0x6
	.long	0x4f9
	.uleb128 0x5
	.long	0x576
	.long	.LLST5
	.long	.LVUS5
	.uleb128 0x5
	.long	0x56c
	.long	.LLST6
	.long	.LVUS6
	.uleb128 0x14
	.long	.LLRL4
	.uleb128 0x15
	.long	0x596
	.long	.LLST7
	.long	.LVUS7
	.uleb128 0x2
	.quad	.LVL14
	.long	0x152
	.uleb128 0x1
	.uleb128 0x1
	.byte	0x55
	.uleb128 0x9
	.byte	0x3
	.quad	refused.0
	.uleb128 0x1
	.uleb128 0x1
	.byte	0x54
	.uleb128 0x3
	.byte	0xa
	.value	0x1000
	.byte	0
	.byte	0
	.byte	0
	.uleb128 0x25
	.quad	.LVL9
	.long	0x152
	.long	0x517
	.uleb128 0x1
	.uleb128 0x1
	.byte	0x55
	.uleb128 0x2
	.byte	0x91
	.sleb128 -48
	.uleb128 0x1
	.uleb128 0x1
	.byte	0x54
	.uleb128 0x2
	.byte	0x73
	.sleb128 0
	.byte	0
	.uleb128 0x2
	.quad	.LVL10
	.long	0x152
	.uleb128 0x1
	.uleb128 0x1
	.byte	0x55
	.uleb128 0x2
	.byte	0x91
	.sleb128 -56
	.uleb128 0x1
	.uleb128 0x1
	.byte	0x54
	.uleb128 0x2
	.byte	0x73
	.sleb128 0
	.byte	0
	.byte	0
	.uleb128 0xa
	.long	0xeb
	.uleb128 0x16
	.long	.LASF34
	.byte	0x34
	.byte	0x3c
	.long	0x39
	.long	0x55d
	.uleb128 0x17
	.string	"pte"
	.byte	0x34
	.byte	0x48
	.long	0x106
	.uleb128 0xe
	.long	.LASF33
	.byte	0x34
	.byte	0x51
	.long	0x7d
	.byte	0
	.uleb128 0x16
	.long	.LASF35
	.byte	0x27
	.byte	0x32
	.long	0x7d
	.long	0x5a3
	.uleb128 0x17
	.string	"rq"
	.byte	0x27
	.byte	0x4a
	.long	0x3de
	.uleb128 0xe
	.long	.LASF27
	.byte	0x27
	.byte	0x53
	.long	0x71
	.uleb128 0x7
	.long	.LASF36
	.byte	0x29
	.byte	0xd
	.long	0x7d
	.uleb128 0x9
	.byte	0x3
	.quad	refused.0
	.uleb128 0x26
	.long	.LASF40
	.byte	0x1
	.byte	0x2a
	.byte	0x6
	.long	0x7d
	.byte	0
	.uleb128 0x27
	.long	.LASF41
	.byte	0x1
	.byte	0x20
	.byte	0x32
	.long	0x7d
	.byte	0x3
	.uleb128 0xe
	.long	.LASF37
	.byte	0x20
	.byte	0x40
	.long	0x71
	.byte	0
	.byte	0
	.section	.debug_abbrev,"",@progbits
.Ldebug_abbrev0:
	.uleb128 0x1
	.uleb128 0x49
	.byte	0
	.uleb128 0x2
	.uleb128 0x18
	.uleb128 0x7e
	.uleb128 0x18
	.byte	0
	.byte	0
	.uleb128 0x2
	.uleb128 0x48
	.byte	0x1
	.uleb128 0x7d
	.uleb128 0x1
	.uleb128 0x7f
	.uleb128 0x13
	.byte	0
	.byte	0
	.uleb128 0x3
	.uleb128 0xd
	.byte	0
	.uleb128 0x3
	.uleb128 0xe
	.uleb128 0x3a
	.uleb128 0x21
	.sleb128 1
	.uleb128 0x3b
	.uleb128 0xb
	.uleb128 0x39
	.uleb128 0xb
	.uleb128 0x49
	.uleb128 0x13
	.uleb128 0x38
	.uleb128 0xb
	.byte	0
	.byte	0
	.uleb128 0x4
	.uleb128 0x5
	.byte	0
	.uleb128 0x3
	.uleb128 0xe
	.uleb128 0x3a
	.uleb128 0x21
	.sleb128 1
	.uleb128 0x3b
	.uleb128 0xb
	.uleb128 0x39
	.uleb128 0xb
	.uleb128 0x49
	.uleb128 0x13
	.uleb128 0x2
	.uleb128 0x17
	.uleb128 0x2137
	.uleb128 0x17
	.byte	0
	.byte	0
	.uleb128 0x5
	.uleb128 0x5
	.byte	0
	.uleb128 0x31
	.uleb128 0x13
	.uleb128 0x2
	.uleb128 0x17
	.uleb128 0x2137
	.uleb128 0x17
	.byte	0
	.byte	0
	.uleb128 0x6
	.uleb128 0x24
	.byte	0
	.uleb128 0xb
	.uleb128 0xb
	.uleb128 0x3e
	.uleb128 0xb
	.uleb128 0x3
	.uleb128 0xe
	.byte	0
	.byte	0
	.uleb128 0x7
	.uleb128 0x34
	.byte	0
	.uleb128 0x3
	.uleb128 0xe
	.uleb128 0x3a
	.uleb128 0x21
	.sleb128 1
	.uleb128 0x3b
	.uleb128 0xb
	.uleb128 0x39
	.uleb128 0xb
	.uleb128 0x49
	.uleb128 0x13
	.uleb128 0x2
	.uleb128 0x18
	.byte	0
	.byte	0
	.uleb128 0x8
	.uleb128 0x2e
	.byte	0x1
	.uleb128 0x3f
	.uleb128 0x19
	.uleb128 0x3
	.uleb128 0xe
	.uleb128 0x3a
	.uleb128 0x21
	.sleb128 1
	.uleb128 0x3b
	.uleb128 0xb
	.uleb128 0x39
	.uleb128 0xb
	.uleb128 0x27
	.uleb128 0x19
	.uleb128 0x49
	.uleb128 0x13
	.uleb128 0x11
	.uleb128 0x1
	.uleb128 0x12
	.uleb128 0x7
	.uleb128 0x40
	.uleb128 0x18
	.uleb128 0x7a
	.uleb128 0x19
	.uleb128 0x1
	.uleb128 0x13
	.byte	0
	.byte	0
	.uleb128 0x9
	.uleb128 0x1d
	.byte	0x1
	.uleb128 0x31
	.uleb128 0x13
	.uleb128 0x52
	.uleb128 0x1
	.uleb128 0x2138
	.uleb128 0xb
	.uleb128 0x55
	.uleb128 0x17
	.uleb128 0x58
	.uleb128 0x21
	.sleb128 1
	.uleb128 0x59
	.uleb128 0xb
	.uleb128 0x57
	.uleb128 0xb
	.uleb128 0x1
	.uleb128 0x13
	.byte	0
	.byte	0
	.uleb128 0xa
	.uleb128 0xf
	.byte	0
	.uleb128 0xb
	.uleb128 0x21
	.sleb128 8
	.uleb128 0x49
	.uleb128 0x13
	.byte	0
	.byte	0
	.uleb128 0xb
	.uleb128 0x13
	.byte	0x1
	.uleb128 0x3
	.uleb128 0xe
	.uleb128 0xb
	.uleb128 0xb
	.uleb128 0x3a
	.uleb128 0x21
	.sleb128 1
	.uleb128 0x3b
	.uleb128 0xb
	.uleb128 0x39
	.uleb128 0xb
	.uleb128 0x1
	.uleb128 0x13
	.byte	0
	.byte	0
	.uleb128 0xc
	.uleb128 0xd
	.byte	0
	.uleb128 0x3
	.uleb128 0x8
	.uleb128 0x3a
	.uleb128 0x21
	.sleb128 1
	.uleb128 0x3b
	.uleb128 0xb
	.uleb128 0x39
	.uleb128 0xb
	.uleb128 0x49
	.uleb128 0x13
	.uleb128 0x38
	.uleb128 0xb
	.byte	0
	.byte	0
	.uleb128 0xd
	.uleb128 0x34
	.byte	0
	.uleb128 0x3
	.uleb128 0xe
	.uleb128 0x3a
	.uleb128 0x21
	.sleb128 1
	.uleb128 0x3b
	.uleb128 0xb
	.uleb128 0x39
	.uleb128 0xb
	.uleb128 0x49
	.uleb128 0x13
	.uleb128 0x2
	.uleb128 0x17
	.uleb128 0x2137
	.uleb128 0x17
	.byte	0
	.byte	0
	.uleb128 0xe
	.uleb128 0x5
	.byte	0
	.uleb128 0x3
	.uleb128 0xe
	.uleb128 0x3a
	.uleb128 0x21
	.sleb128 1
	.uleb128 0x3b
	.uleb128 0xb
	.uleb128 0x39
	.uleb128 0xb
	.uleb128 0x49
	.uleb128 0x13
	.byte	0
	.byte	0
	.uleb128 0xf
	.uleb128 0x16
	.byte	0
	.uleb128 0x3
	.uleb128 0xe
	.uleb128 0x3a
	.uleb128 0x21
	.sleb128 1
	.uleb128 0x3b
	.uleb128 0xb
	.uleb128 0x39
	.uleb128 0xb
	.uleb128 0x49
	.uleb128 0x13
	.byte	0
	.byte	0
	.uleb128 0x10
	.uleb128 0xd
	.byte	0
	.uleb128 0x3
	.uleb128 0xe
	.uleb128 0x3a
	.uleb128 0x21
	.sleb128 1
	.uleb128 0x3b
	.uleb128 0xb
	.uleb128 0x39
	.uleb128 0x21
	.sleb128 11
	.uleb128 0x49
	.uleb128 0x13
	.uleb128 0xd
	.uleb128 0xb
	.uleb128 0x6b
	.uleb128 0xb
	.byte	0
	.byte	0
	.uleb128 0x11
	.uleb128 0x1
	.byte	0x1
	.uleb128 0x49
	.uleb128 0x13
	.uleb128 0x1
	.uleb128 0x13
	.byte	0
	.byte	0
	.uleb128 0x12
	.uleb128 0x5
	.byte	0
	.uleb128 0x49
	.uleb128 0x13
	.byte	0
	.byte	0
	.uleb128 0x13
	.uleb128 0x5
	.byte	0
	.uleb128 0x3
	.uleb128 0x8
	.uleb128 0x3a
	.uleb128 0x21
	.sleb128 1
	.uleb128 0x3b
	.uleb128 0xb
	.uleb128 0x39
	.uleb128 0xb
	.uleb128 0x49
	.uleb128 0x13
	.uleb128 0x2
	.uleb128 0x17
	.uleb128 0x2137
	.uleb128 0x17
	.byte	0
	.byte	0
	.uleb128 0x14
	.uleb128 0xb
	.byte	0x1
	.uleb128 0x55
	.uleb128 0x17
	.byte	0
	.byte	0
	.uleb128 0x15
	.uleb128 0x34
	.byte	0
	.uleb128 0x31
	.uleb128 0x13
	.uleb128 0x2
	.uleb128 0x17
	.uleb128 0x2137
	.uleb128 0x17
	.byte	0
	.byte	0
	.uleb128 0x16
	.uleb128 0x2e
	.byte	0x1
	.uleb128 0x3
	.uleb128 0xe
	.uleb128 0x3a
	.uleb128 0x21
	.sleb128 1
	.uleb128 0x3b
	.uleb128 0xb
	.uleb128 0x39
	.uleb128 0xb
	.uleb128 0x27
	.uleb128 0x19
	.uleb128 0x49
	.uleb128 0x13
	.uleb128 0x20
	.uleb128 0x21
	.sleb128 3
	.uleb128 0x1
	.uleb128 0x13
	.byte	0
	.byte	0
	.uleb128 0x17
	.uleb128 0x5
	.byte	0
	.uleb128 0x3
	.uleb128 0x8
	.uleb128 0x3a
	.uleb128 0x21
	.sleb128 1
	.uleb128 0x3b
	.uleb128 0xb
	.uleb128 0x39
	.uleb128 0xb
	.uleb128 0x49
	.uleb128 0x13
	.byte	0
	.byte	0
	.uleb128 0x18
	.uleb128 0x11
	.byte	0x1
	.uleb128 0x25
	.uleb128 0xe
	.uleb128 0x13
	.uleb128 0xb
	.uleb128 0x3
	.uleb128 0x1f
	.uleb128 0x1b
	.uleb128 0x1f
	.uleb128 0x11
	.uleb128 0x1
	.uleb128 0x12
	.uleb128 0x7
	.uleb128 0x10
	.uleb128 0x17
	.byte	0
	.byte	0
	.uleb128 0x19
	.uleb128 0x35
	.byte	0
	.uleb128 0x49
	.uleb128 0x13
	.byte	0
	.byte	0
	.uleb128 0x1a
	.uleb128 0x24
	.byte	0
	.uleb128 0xb
	.uleb128 0xb
	.uleb128 0x3e
	.uleb128 0xb
	.uleb128 0x3
	.uleb128 0x8
	.byte	0
	.byte	0
	.uleb128 0x1b
	.uleb128 0x21
	.byte	0
	.uleb128 0x49
	.uleb128 0x13
	.uleb128 0x2f
	.uleb128 0xb
	.byte	0
	.byte	0
	.uleb128 0x1c
	.uleb128 0x26
	.byte	0
	.uleb128 0x49
	.uleb128 0x13
	.byte	0
	.byte	0
	.uleb128 0x1d
	.uleb128 0x13
	.byte	0x1
	.uleb128 0xb
	.uleb128 0xb
	.uleb128 0x3a
	.uleb128 0xb
	.uleb128 0x3b
	.uleb128 0xb
	.uleb128 0x39
	.uleb128 0xb
	.uleb128 0x1
	.uleb128 0x13
	.byte	0
	.byte	0
	.uleb128 0x1e
	.uleb128 0x13
	.byte	0x1
	.uleb128 0x3
	.uleb128 0xe
	.uleb128 0xb
	.uleb128 0x5
	.uleb128 0x3a
	.uleb128 0xb
	.uleb128 0x3b
	.uleb128 0xb
	.uleb128 0x39
	.uleb128 0xb
	.uleb128 0x1
	.uleb128 0x13
	.byte	0
	.byte	0
	.uleb128 0x1f
	.uleb128 0x21
	.byte	0
	.uleb128 0x49
	.uleb128 0x13
	.uleb128 0x2f
	.uleb128 0x5
	.byte	0
	.byte	0
	.uleb128 0x20
	.uleb128 0x2e
	.byte	0x1
	.uleb128 0x3f
	.uleb128 0x19
	.uleb128 0x3
	.uleb128 0xe
	.uleb128 0x3a
	.uleb128 0xb
	.uleb128 0x3b
	.uleb128 0xb
	.uleb128 0x39
	.uleb128 0xb
	.uleb128 0x27
	.uleb128 0x19
	.uleb128 0x3c
	.uleb128 0x19
	.uleb128 0x1
	.uleb128 0x13
	.byte	0
	.byte	0
	.uleb128 0x21
	.uleb128 0xf
	.byte	0
	.uleb128 0xb
	.uleb128 0xb
	.byte	0
	.byte	0
	.uleb128 0x22
	.uleb128 0xb
	.byte	0x1
	.uleb128 0x55
	.uleb128 0x17
	.uleb128 0x1
	.uleb128 0x13
	.byte	0
	.byte	0
	.uleb128 0x23
	.uleb128 0x34
	.byte	0
	.uleb128 0x3
	.uleb128 0x8
	.uleb128 0x3a
	.uleb128 0xb
	.uleb128 0x3b
	.uleb128 0xb
	.uleb128 0x39
	.uleb128 0xb
	.uleb128 0x49
	.uleb128 0x13
	.uleb128 0x2
	.uleb128 0x17
	.uleb128 0x2137
	.uleb128 0x17
	.byte	0
	.byte	0
	.uleb128 0x24
	.uleb128 0x34
	.byte	0
	.uleb128 0x3
	.uleb128 0x8
	.uleb128 0x3a
	.uleb128 0xb
	.uleb128 0x3b
	.uleb128 0xb
	.uleb128 0x39
	.uleb128 0xb
	.uleb128 0x49
	.uleb128 0x13
	.uleb128 0x2
	.uleb128 0x18
	.byte	0
	.byte	0
	.uleb128 0x25
	.uleb128 0x48
	.byte	0x1
	.uleb128 0x7d
	.uleb128 0x1
	.uleb128 0x7f
	.uleb128 0x13
	.uleb128 0x1
	.uleb128 0x13
	.byte	0
	.byte	0
	.uleb128 0x26
	.uleb128 0x34
	.byte	0
	.uleb128 0x3
	.uleb128 0xe
	.uleb128 0x3a
	.uleb128 0xb
	.uleb128 0x3b
	.uleb128 0xb
	.uleb128 0x39
	.uleb128 0xb
	.uleb128 0x49
	.uleb128 0x13
	.byte	0
	.byte	0
	.uleb128 0x27
	.uleb128 0x2e
	.byte	0x1
	.uleb128 0x3
	.uleb128 0xe
	.uleb128 0x3a
	.uleb128 0xb
	.uleb128 0x3b
	.uleb128 0xb
	.uleb128 0x39
	.uleb128 0xb
	.uleb128 0x27
	.uleb128 0x19
	.uleb128 0x49
	.uleb128 0x13
	.uleb128 0x20
	.uleb128 0xb
	.byte	0
	.byte	0
	.byte	0
	.section	.debug_loclists,"",@progbits
	.long	.Ldebug_loc3-.Ldebug_loc2
.Ldebug_loc2:
	.value	0x5
	.byte	0x8
	.byte	0
	.long	0
.Ldebug_loc0:
.LVUS25:
	.uleb128 0
	.uleb128 .LVU124
	.uleb128 .LVU124
	.uleb128 .LVU133
	.uleb128 .LVU133
	.uleb128 0
.LLST25:
	.byte	0x4
	.uleb128 .LVL39-.Ltext0
	.uleb128 .LVL40-.Ltext0
	.uleb128 0x1
	.byte	0x55
	.byte	0x4
	.uleb128 .LVL40-.Ltext0
	.uleb128 .LVL44-.Ltext0
	.uleb128 0x1
	.byte	0x53
	.byte	0x4
	.uleb128 .LVL44-.Ltext0
	.uleb128 .LFE6-.Ltext0
	.uleb128 0x1
	.byte	0x50
	.byte	0
.LVUS18:
	.uleb128 0
	.uleb128 .LVU106
	.uleb128 .LVU106
	.uleb128 .LVU107
	.uleb128 .LVU107
	.uleb128 0
.LLST18:
	.byte	0x4
	.uleb128 .LVL33-.Ltext0
	.uleb128 .LVL36-.Ltext0
	.uleb128 0x1
	.byte	0x55
	.byte	0x4
	.uleb128 .LVL36-.Ltext0
	.uleb128 .LVL37-1-.Ltext0
	.uleb128 0x3
	.byte	0x75
	.sleb128 -8
	.byte	0x9f
	.byte	0x4
	.uleb128 .LVL37-1-.Ltext0
	.uleb128 .LFE5-.Ltext0
	.uleb128 0x4
	.byte	0xa3
	.uleb128 0x1
	.byte	0x55
	.byte	0x9f
	.byte	0
.LVUS19:
	.uleb128 0
	.uleb128 .LVU101
	.uleb128 .LVU101
	.uleb128 .LVU107
	.uleb128 .LVU107
	.uleb128 0
.LLST19:
	.byte	0x4
	.uleb128 .LVL33-.Ltext0
	.uleb128 .LVL34-.Ltext0
	.uleb128 0x1
	.byte	0x54
	.byte	0x4
	.uleb128 .LVL34-.Ltext0
	.uleb128 .LVL37-1-.Ltext0
	.uleb128 0x1
	.byte	0x52
	.byte	0x4
	.uleb128 .LVL37-1-.Ltext0
	.uleb128 .LFE5-.Ltext0
	.uleb128 0x4
	.byte	0xa3
	.uleb128 0x1
	.byte	0x54
	.byte	0x9f
	.byte	0
.LVUS20:
	.uleb128 .LVU103
	.uleb128 .LVU110
.LLST20:
	.byte	0x4
	.uleb128 .LVL35-.Ltext0
	.uleb128 .LVL37-.Ltext0
	.uleb128 0x3
	.byte	0x53
	.byte	0x93
	.uleb128 0x8
	.byte	0
.LVUS21:
	.uleb128 .LVU104
	.uleb128 .LVU107
	.uleb128 .LVU107
	.uleb128 .LVU116
	.uleb128 .LVU116
	.uleb128 0
.LLST21:
	.byte	0x4
	.uleb128 .LVL35-.Ltext0
	.uleb128 .LVL37-1-.Ltext0
	.uleb128 0x1
	.byte	0x54
	.byte	0x4
	.uleb128 .LVL37-1-.Ltext0
	.uleb128 .LVL38-.Ltext0
	.uleb128 0x1
	.byte	0x56
	.byte	0x4
	.uleb128 .LVL38-.Ltext0
	.uleb128 .LFE5-.Ltext0
	.uleb128 0x9
	.byte	0x31
	.byte	0xa3
	.uleb128 0x1
	.byte	0x54
	.byte	0x8
	.byte	0xff
	.byte	0x1a
	.byte	0x24
	.byte	0x9f
	.byte	0
.LVUS23:
	.uleb128 .LVU108
	.uleb128 .LVU110
.LLST23:
	.byte	0x4
	.uleb128 .LVL37-.Ltext0
	.uleb128 .LVL37-.Ltext0
	.uleb128 0x2
	.byte	0x35
	.byte	0x9f
	.byte	0
.LVUS24:
	.uleb128 .LVU108
	.uleb128 .LVU110
.LLST24:
	.byte	0x4
	.uleb128 .LVL37-.Ltext0
	.uleb128 .LVL37-.Ltext0
	.uleb128 0x3
	.byte	0x53
	.byte	0x93
	.uleb128 0x8
	.byte	0
.LVUS8:
	.uleb128 0
	.uleb128 .LVU62
	.uleb128 .LVU62
	.uleb128 .LVU73
	.uleb128 .LVU73
	.uleb128 .LVU77
	.uleb128 .LVU77
	.uleb128 .LVU79
	.uleb128 .LVU79
	.uleb128 0
.LLST8:
	.byte	0x4
	.uleb128 .LVL15-.Ltext0
	.uleb128 .LVL18-.Ltext0
	.uleb128 0x1
	.byte	0x55
	.byte	0x4
	.uleb128 .LVL18-.Ltext0
	.uleb128 .LVL23-.Ltext0
	.uleb128 0x1
	.byte	0x56
	.byte	0x4
	.uleb128 .LVL23-.Ltext0
	.uleb128 .LVL26-.Ltext0
	.uleb128 0x4
	.byte	0xa3
	.uleb128 0x1
	.byte	0x55
	.byte	0x9f
	.byte	0x4
	.uleb128 .LVL26-.Ltext0
	.uleb128 .LVL28-.Ltext0
	.uleb128 0x1
	.byte	0x55
	.byte	0x4
	.uleb128 .LVL28-.Ltext0
	.uleb128 .LFE4-.Ltext0
	.uleb128 0x1
	.byte	0x56
	.byte	0
.LVUS9:
	.uleb128 0
	.uleb128 .LVU62
	.uleb128 .LVU62
	.uleb128 .LVU76
	.uleb128 .LVU76
	.uleb128 .LVU77
	.uleb128 .LVU77
	.uleb128 .LVU78
	.uleb128 .LVU78
	.uleb128 0
.LLST9:
	.byte	0x4
	.uleb128 .LVL15-.Ltext0
	.uleb128 .LVL18-.Ltext0
	.uleb128 0x1
	.byte	0x54
	.byte	0x4
	.uleb128 .LVL18-.Ltext0
	.uleb128 .LVL25-.Ltext0
	.uleb128 0x1
	.byte	0x5d
	.byte	0x4
	.uleb128 .LVL25-.Ltext0
	.uleb128 .LVL26-.Ltext0
	.uleb128 0x4
	.byte	0xa3
	.uleb128 0x1
	.byte	0x54
	.byte	0x9f
	.byte	0x4
	.uleb128 .LVL26-.Ltext0
	.uleb128 .LVL27-.Ltext0
	.uleb128 0x1
	.byte	0x54
	.byte	0x4
	.uleb128 .LVL27-.Ltext0
	.uleb128 .LFE4-.Ltext0
	.uleb128 0x1
	.byte	0x5d
	.byte	0
.LVUS10:
	.uleb128 0
	.uleb128 .LVU61
	.uleb128 .LVU61
	.uleb128 .LVU62
	.uleb128 .LVU62
	.uleb128 .LVU72
	.uleb128 .LVU72
	.uleb128 0
.LLST10:
	.byte	0x4
	.uleb128 .LVL15-.Ltext0
	.uleb128 .LVL17-.Ltext0
	.uleb128 0x1
	.byte	0x51
	.byte	0x4
	.uleb128 .LVL17-.Ltext0
	.uleb128 .LVL18-.Ltext0
	.uleb128 0x3
	.byte	0x71
	.sleb128 -1
	.byte	0x9f
	.byte	0x4
	.uleb128 .LVL18-.Ltext0
	.uleb128 .LVL22-.Ltext0
	.uleb128 0x3
	.byte	0x73
	.sleb128 -1
	.byte	0x9f
	.byte	0x4
	.uleb128 .LVL22-.Ltext0
	.uleb128 .LFE4-.Ltext0
	.uleb128 0x4
	.byte	0xa3
	.uleb128 0x1
	.byte	0x51
	.byte	0x9f
	.byte	0
.LVUS11:
	.uleb128 .LVU68
	.uleb128 .LVU75
.LLST11:
	.byte	0x4
	.uleb128 .LVL20-.Ltext0
	.uleb128 .LVL24-.Ltext0
	.uleb128 0x1
	.byte	0x5c
	.byte	0
.LVUS13:
	.uleb128 .LVU54
	.uleb128 .LVU61
	.uleb128 .LVU61
	.uleb128 .LVU62
	.uleb128 .LVU62
	.uleb128 .LVU68
	.uleb128 .LVU77
	.uleb128 .LVU80
	.uleb128 .LVU80
	.uleb128 0
.LLST13:
	.byte	0x4
	.uleb128 .LVL16-.Ltext0
	.uleb128 .LVL17-.Ltext0
	.uleb128 0x3
	.byte	0x71
	.sleb128 1
	.byte	0x9f
	.byte	0x4
	.uleb128 .LVL17-.Ltext0
	.uleb128 .LVL18-.Ltext0
	.uleb128 0x1
	.byte	0x51
	.byte	0x4
	.uleb128 .LVL18-.Ltext0
	.uleb128 .LVL20-.Ltext0
	.uleb128 0x1
	.byte	0x53
	.byte	0x4
	.uleb128 .LVL26-.Ltext0
	.uleb128 .LVL29-1-.Ltext0
	.uleb128 0x1
	.byte	0x51
	.byte	0x4
	.uleb128 .LVL29-1-.Ltext0
	.uleb128 .LFE4-.Ltext0
	.uleb128 0x1
	.byte	0x53
	.byte	0
.LVUS14:
	.uleb128 .LVU54
	.uleb128 .LVU62
	.uleb128 .LVU62
	.uleb128 .LVU68
	.uleb128 .LVU77
	.uleb128 .LVU78
	.uleb128 .LVU78
	.uleb128 0
.LLST14:
	.byte	0x4
	.uleb128 .LVL16-.Ltext0
	.uleb128 .LVL18-.Ltext0
	.uleb128 0x1
	.byte	0x54
	.byte	0x4
	.uleb128 .LVL18-.Ltext0
	.uleb128 .LVL20-.Ltext0
	.uleb128 0x1
	.byte	0x5d
	.byte	0x4
	.uleb128 .LVL26-.Ltext0
	.uleb128 .LVL27-.Ltext0
	.uleb128 0x1
	.byte	0x54
	.byte	0x4
	.uleb128 .LVL27-.Ltext0
	.uleb128 .LFE4-.Ltext0
	.uleb128 0x1
	.byte	0x5d
	.byte	0
.LVUS15:
	.uleb128 .LVU64
	.uleb128 .LVU68
	.uleb128 .LVU68
	.uleb128 .LVU72
	.uleb128 .LVU72
	.uleb128 .LVU77
	.uleb128 .LVU81
	.uleb128 .LVU87
	.uleb128 .LVU87
	.uleb128 0
.LLST15:
	.byte	0x4
	.uleb128 .LVL19-.Ltext0
	.uleb128 .LVL20-.Ltext0
	.uleb128 0x1
	.byte	0x5c
	.byte	0x4
	.uleb128 .LVL20-.Ltext0
	.uleb128 .LVL22-.Ltext0
	.uleb128 0x8
	.byte	0x73
	.sleb128 0
	.byte	0x30
	.byte	0x2b
	.byte	0x8
	.byte	0xff
	.byte	0x1a
	.byte	0x9f
	.byte	0x4
	.uleb128 .LVL22-.Ltext0
	.uleb128 .LVL26-.Ltext0
	.uleb128 0xb
	.byte	0xa3
	.uleb128 0x1
	.byte	0x51
	.byte	0x23
	.uleb128 0x1
	.byte	0x30
	.byte	0x2b
	.byte	0x8
	.byte	0xff
	.byte	0x1a
	.byte	0x9f
	.byte	0x4
	.uleb128 .LVL30-.Ltext0
	.uleb128 .LVL31-.Ltext0
	.uleb128 0x1
	.byte	0x5c
	.byte	0x4
	.uleb128 .LVL31-.Ltext0
	.uleb128 .LFE4-.Ltext0
	.uleb128 0x8
	.byte	0x73
	.sleb128 0
	.byte	0x30
	.byte	0x2b
	.byte	0x8
	.byte	0xff
	.byte	0x1a
	.byte	0x9f
	.byte	0
.LVUS17:
	.uleb128 .LVU57
	.uleb128 .LVU61
	.uleb128 .LVU61
	.uleb128 .LVU62
	.uleb128 .LVU62
	.uleb128 .LVU64
	.uleb128 .LVU77
	.uleb128 .LVU80
	.uleb128 .LVU80
	.uleb128 .LVU81
.LLST17:
	.byte	0x4
	.uleb128 .LVL16-.Ltext0
	.uleb128 .LVL17-.Ltext0
	.uleb128 0x3
	.byte	0x71
	.sleb128 1
	.byte	0x9f
	.byte	0x4
	.uleb128 .LVL17-.Ltext0
	.uleb128 .LVL18-.Ltext0
	.uleb128 0x1
	.byte	0x51
	.byte	0x4
	.uleb128 .LVL18-.Ltext0
	.uleb128 .LVL19-.Ltext0
	.uleb128 0x1
	.byte	0x53
	.byte	0x4
	.uleb128 .LVL26-.Ltext0
	.uleb128 .LVL29-1-.Ltext0
	.uleb128 0x1
	.byte	0x51
	.byte	0x4
	.uleb128 .LVL29-1-.Ltext0
	.uleb128 .LVL30-.Ltext0
	.uleb128 0x1
	.byte	0x53
	.byte	0
.LVUS0:
	.uleb128 0
	.uleb128 .LVU26
	.uleb128 .LVU26
	.uleb128 .LVU40
	.uleb128 .LVU40
	.uleb128 .LVU41
	.uleb128 .LVU41
	.uleb128 0
.LLST0:
	.byte	0x4
	.uleb128 .LVL0-.Ltext0
	.uleb128 .LVL8-.Ltext0
	.uleb128 0x1
	.byte	0x55
	.byte	0x4
	.uleb128 .LVL8-.Ltext0
	.uleb128 .LVL12-.Ltext0
	.uleb128 0x4
	.byte	0xa3
	.uleb128 0x1
	.byte	0x55
	.byte	0x9f
	.byte	0x4
	.uleb128 .LVL12-.Ltext0
	.uleb128 .LVL13-.Ltext0
	.uleb128 0x1
	.byte	0x55
	.byte	0x4
	.uleb128 .LVL13-.Ltext0
	.uleb128 .LFE3-.Ltext0
	.uleb128 0x4
	.byte	0xa3
	.uleb128 0x1
	.byte	0x55
	.byte	0x9f
	.byte	0
.LVUS1:
	.uleb128 0
	.uleb128 .LVU14
	.uleb128 .LVU14
	.uleb128 .LVU18
	.uleb128 .LVU18
	.uleb128 0
.LLST1:
	.byte	0x4
	.uleb128 .LVL0-.Ltext0
	.uleb128 .LVL3-.Ltext0
	.uleb128 0x1
	.byte	0x54
	.byte	0x4
	.uleb128 .LVL3-.Ltext0
	.uleb128 .LVL4-.Ltext0
	.uleb128 0x2
	.byte	0x91
	.sleb128 -40
	.byte	0x4
	.uleb128 .LVL4-.Ltext0
	.uleb128 .LFE3-.Ltext0
	.uleb128 0x4
	.byte	0xa3
	.uleb128 0x1
	.byte	0x54
	.byte	0x9f
	.byte	0
.LVUS2:
	.uleb128 0
	.uleb128 .LVU9
	.uleb128 .LVU9
	.uleb128 .LVU11
	.uleb128 .LVU11
	.uleb128 0
.LLST2:
	.byte	0x4
	.uleb128 .LVL0-.Ltext0
	.uleb128 .LVL1-.Ltext0
	.uleb128 0x1
	.byte	0x51
	.byte	0x4
	.uleb128 .LVL1-.Ltext0
	.uleb128 .LVL2-.Ltext0
	.uleb128 0x1
	.byte	0x61
	.byte	0x4
	.uleb128 .LVL2-.Ltext0
	.uleb128 .LFE3-.Ltext0
	.uleb128 0x4
	.byte	0xa3
	.uleb128 0x1
	.byte	0x51
	.byte	0x9f
	.byte	0
.LVUS3:
	.uleb128 .LVU17
	.uleb128 .LVU18
	.uleb128 .LVU18
	.uleb128 .LVU23
	.uleb128 .LVU23
	.uleb128 .LVU24
	.uleb128 .LVU40
	.uleb128 .LVU41
.LLST3:
	.byte	0x4
	.uleb128 .LVL4-.Ltext0
	.uleb128 .LVL4-.Ltext0
	.uleb128 0x2
	.byte	0x30
	.byte	0x9f
	.byte	0x4
	.uleb128 .LVL4-.Ltext0
	.uleb128 .LVL5-.Ltext0
	.uleb128 0x1
	.byte	0x54
	.byte	0x4
	.uleb128 .LVL5-.Ltext0
	.uleb128 .LVL6-.Ltext0
	.uleb128 0x3
	.byte	0x74
	.sleb128 1
	.byte	0x9f
	.byte	0x4
	.uleb128 .LVL12-.Ltext0
	.uleb128 .LVL13-.Ltext0
	.uleb128 0x1
	.byte	0x54
	.byte	0
.LVUS5:
	.uleb128 .LVU29
	.uleb128 .LVU34
	.uleb128 .LVU41
	.uleb128 .LVU46
.LLST5:
	.byte	0x4
	.uleb128 .LVL10-.Ltext0
	.uleb128 .LVL11-.Ltext0
	.uleb128 0x4
	.byte	0xa
	.value	0x1000
	.byte	0x9f
	.byte	0x4
	.uleb128 .LVL13-.Ltext0
	.uleb128 .LVL14-.Ltext0
	.uleb128 0x4
	.byte	0xa
	.value	0x1000
	.byte	0x9f
	.byte	0
.LVUS6:
	.uleb128 .LVU29
	.uleb128 .LVU34
	.uleb128 .LVU41
	.uleb128 .LVU46
.LLST6:
	.byte	0x4
	.uleb128 .LVL10-.Ltext0
	.uleb128 .LVL11-.Ltext0
	.uleb128 0x3
	.byte	0x91
	.sleb128 -48
	.byte	0x9f
	.byte	0x4
	.uleb128 .LVL13-.Ltext0
	.uleb128 .LVL14-.Ltext0
	.uleb128 0x3
	.byte	0x91
	.sleb128 -48
	.byte	0x9f
	.byte	0
.LVUS7:
	.uleb128 .LVU32
	.uleb128 .LVU40
	.uleb128 .LVU41
	.uleb128 0
.LLST7:
	.byte	0x4
	.uleb128 .LVL10-.Ltext0
	.uleb128 .LVL12-.Ltext0
	.uleb128 0x2
	.byte	0x31
	.byte	0x9f
	.byte	0x4
	.uleb128 .LVL13-.Ltext0
	.uleb128 .LFE3-.Ltext0
	.uleb128 0x2
	.byte	0x31
	.byte	0x9f
	.byte	0
.Ldebug_loc3:
	.section	.debug_aranges,"",@progbits
	.long	0x2c
	.value	0x2
	.long	.Ldebug_info0
	.byte	0x8
	.byte	0
	.value	0
	.value	0
	.quad	.Ltext0
	.quad	.Letext0-.Ltext0
	.quad	0
	.quad	0
	.section	.debug_rnglists,"",@progbits
.Ldebug_ranges0:
	.long	.Ldebug_ranges3-.Ldebug_ranges2
.Ldebug_ranges2:
	.value	0x5
	.byte	0x8
	.byte	0
	.long	0
.LLRL4:
	.byte	0x4
	.uleb128 .LBB14-.Ltext0
	.uleb128 .LBE14-.Ltext0
	.byte	0x4
	.uleb128 .LBB17-.Ltext0
	.uleb128 .LBE17-.Ltext0
	.byte	0
.LLRL12:
	.byte	0x4
	.uleb128 .LBB18-.Ltext0
	.uleb128 .LBE18-.Ltext0
	.byte	0x4
	.uleb128 .LBB28-.Ltext0
	.uleb128 .LBE28-.Ltext0
	.byte	0x4
	.uleb128 .LBB29-.Ltext0
	.uleb128 .LBE29-.Ltext0
	.byte	0
.LLRL16:
	.byte	0x4
	.uleb128 .LBB20-.Ltext0
	.uleb128 .LBE20-.Ltext0
	.byte	0x4
	.uleb128 .LBB24-.Ltext0
	.uleb128 .LBE24-.Ltext0
	.byte	0x4
	.uleb128 .LBB25-.Ltext0
	.uleb128 .LBE25-.Ltext0
	.byte	0
.LLRL22:
	.byte	0x4
	.uleb128 .LBB30-.Ltext0
	.uleb128 .LBE30-.Ltext0
	.byte	0x4
	.uleb128 .LBB33-.Ltext0
	.uleb128 .LBE33-.Ltext0
	.byte	0
.LLRL26:
	.byte	0x4
	.uleb128 .LBB34-.Ltext0
	.uleb128 .LBE34-.Ltext0
	.byte	0x4
	.uleb128 .LBB35-.Ltext0
	.uleb128 .LBE35-.Ltext0
	.byte	0x4
	.uleb128 .LBB36-.Ltext0
	.uleb128 .LBE36-.Ltext0
	.byte	0x4
	.uleb128 .LBB37-.Ltext0
	.uleb128 .LBE37-.Ltext0
	.byte	0
.Ldebug_ranges3:
	.section	.debug_line,"",@progbits
.Ldebug_line0:
	.section	.debug_str,"MS",@progbits,1
.LASF21:
	.string	"summed"
.LASF33:
	.string	"shift"
.LASF15:
	.string	"size_t"
.LASF2:
	.string	"state"
.LASF41:
	.string	"positive"
.LASF31:
	.string	"high"
.LASF26:
	.string	"task"
.LASF11:
	.string	"count"
.LASF7:
	.string	"request"
.LASF28:
	.string	"kind"
.LASF40:
	.string	"good"
.LASF30:
	.string	"pair"
.LASF38:
	.string	"GNU C17 12.2.0 -mtune=generic -march=x86-64 -gdwarf-5 -O2 -fcf-protection=none -fno-asynchronous-unwind-tables -fno-stack-protector"
.LASF6:
	.string	"task_struct"
.LASF24:
	.string	"size"
.LASF4:
	.string	"long unsigned int"
.LASF8:
	.string	"write"
.LASF17:
	.string	"table"
.LASF35:
	.string	"checked"
.LASF13:
	.string	"unsigned int"
.LASF9:
	.string	"flags"
.LASF23:
	.string	"address"
.LASF14:
	.string	"char"
.LASF25:
	.string	"resubmit"
.LASF27:
	.string	"limit"
.LASF37:
	.string	"number"
.LASF39:
	.string	"effect"
.LASF18:
	.string	"rows"
.LASF10:
	.string	"error"
.LASF12:
	.string	"name"
.LASF34:
	.string	"young"
.LASF32:
	.string	"index"
.LASF36:
	.string	"refused"
.LASF3:
	.string	"tgid"
.LASF5:
	.string	"long int"
.LASF16:
	.string	"pte_t"
.LASF29:
	.string	"submit"
.LASF19:
	.string	"calls"
.LASF22:
	.string	"accessed"
.LASF20:
	.string	"copy"
	.section	.debug_line_str,"MS",@progbits,1
.LASF1:
	.string	"/kernel"
.LASF0:
	.string	"copies.c"
	.ident	"GCC: (Debian 12.2.0-14+deb12u1) 12.2.0"
	.section	.note.GNU-stack,"",@progbits
