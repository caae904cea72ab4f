#!/usr/bin/env -S dtrace -s
/*
 * regs.d: all registers and the stack at one instruction: a breakpoint that does not stop.
 *
 *	./regs.d FUNCTION OFFSET [-c COMMAND | -p PID]
 *	./regs.d vfs_read 0 -c 'md5sum /etc/passwd'
 *
 * OFFSET comes from `dtrace --disas FUNCTION`. The registers are shown before the instruction runs;
 * at offset 0, rdi, rsi, rdx, rcx, r8 and r9 hold the arguments. The names are those of x86-64; on
 * arm64 they are R_X0 to R_X30, R_SP, R_PC and R_PSTATE. Use it where the debug information
 * does not locate a variable; where it does, values.d is easier to read. Ends after 20 hits, by
 * the last clause.
 */
#pragma D option quiet

kinst::$1:$2
/$target == 0 || pid == $target/
{
	printf("%s(%d) on CPU %d at %a\n", execname, pid, cpu, regs[R_RIP]);
	printf("  rax %016x  rbx %016x  rcx %016x  rdx %016x\n", regs[R_RAX], regs[R_RBX],
	    regs[R_RCX], regs[R_RDX]);
	printf("  rsi %016x  rdi %016x  rbp %016x  rsp %016x\n", regs[R_RSI], regs[R_RDI],
	    regs[R_RBP], regs[R_RSP]);
	printf("  r8  %016x  r9  %016x  r10 %016x  r11 %016x\n", regs[R_R8], regs[R_R9],
	    regs[R_R10], regs[R_R11]);
	printf("  r12 %016x  r13 %016x  r14 %016x  r15 %016x\n", regs[R_R12], regs[R_R13],
	    regs[R_R14], regs[R_R15]);
	printf("  flags %x", regs[R_RFL]);
	stack();
	hits++;
}

kinst::$1:$2
/hits >= 20/
{
	exit(0);
}
