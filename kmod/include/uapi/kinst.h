/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * include/uapi/kinst.h: the interface of /dev/dtrace/kinst.
 *
 * A session is an open file. Its life:
 *
 *   open -> LOAD (verify the image, prepare and arm its probes, state INACTIVE)
 *        -> mmap the rings -> GO (BEGIN fires, state ACTIVE) -> drain the rings,
 *           snapshot the aggregations -> STOP (END fires, state STOPPED) -> drain -> close
 *
 * Closing the file at any moment disarms what the session armed. All numbers
 * are in the byte order of the machine; every structure has the same layout for
 * 32- and 64-bit callers; every reserved field is zero, or the call is refused.
 *
 * xtask generates crates/base/src/uapi.rs from this file: it understands #define of
 * a number or a string, enum with explicit values, and struct of __u8..__u64,
 * __s32, __s64, arrays of them, and structs declared above.
 */
#ifndef _UAPI_KINST_H
#define _UAPI_KINST_H

#include <linux/ioctl.h>
#include <linux/types.h>

#include "kinst_dif.h"

#define KINST_ABI_VERSION 4
#define KINST_DEVICE "/dev/dtrace/kinst"
#define KINST_NONE 0xffffffff /* no such index */

/* ---- ioctls ---- */

/* KINST_IOC_INFO: the module and its limits. */
struct kinst_info {
	__u32 abi; /* KINST_ABI_VERSION */
	__u32 ncpus; /* rings are numbered 0 .. ncpus - 1 (possible CPUs) */
	__u32 max_probes; /* of one session; a module parameter */
	__u32 max_insns; /* DIF instructions of one image; a module parameter */
	__u64 max_memory; /* bytes of one session; a module parameter */
	__u32 max_once; /* probes of one session with KINST_IMAGE_ONCE; a module parameter */
	__u32 reserved;
};

/* One instruction of a function, from memory. */
struct kinst_insn {
	__u32 offset; /* from the function's symbol */
	__u8 len; /* bytes of the instruction */
	__u8 flags; /* KINST_INSN_* */
	__u16 reason; /* enum kinst_reason; KINST_OK: it can be traced */
	__u8 bytes[16]; /* the first len are the original instruction */
};

#define KINST_INSN_RET 0x1 /* returns to the caller */
#define KINST_INSN_TAIL 0x2 /* a jump that leaves the function */
#define KINST_INSN_BRANCH 0x4 /* a conditional branch */
#define KINST_INSN_LINKED 0x8 /* the caller is in the link register, not in a frame */

/* KINST_IOC_INSNS: the instructions of a function. */
struct kinst_insns {
	__u64 func; /* in: run-time address of the function's symbol */
	__u64 buf; /* in: user address of struct kinst_insn[count] */
	__u32 count; /* in: entries of buf; out: instructions of the function */
	__u32 size; /* out: bytes of the function */
	__u32 reason; /* out: why the instructions are unknown, or KINST_OK */
	__u32 reserved;
};

/* The result of arming one probe of the image. */
struct kinst_result {
	__u32 reason; /* enum kinst_reason; KINST_OK: it is armed */
	__u32 prev; /* KINST_R_BOUNDARY: offset of the instruction before */
	__u32 next; /* offset of the instruction after */
	__u32 reserved;
};

/* Why an image was refused as a whole. */
struct kinst_error {
	__u32 code; /* enum kinst_verify; 0: not refused by the verifier */
	__u32 difo; /* index of the DIFO, or KINST_NONE */
	__u32 index; /* of the instruction in the DIFO, or of the table entry, or KINST_NONE */
	__u32 reserved;
};

/* KINST_IOC_LOAD: an image, and one result for each of its probes. */
struct kinst_load {
	__u64 image; /* user address */
	__u64 results; /* user address of struct kinst_result[nprobes of the image] */
	__u32 image_len; /* bytes */
	__u32 nresults; /* entries of results: as many as the image has probes */
	struct kinst_error error; /* out */
};

/* States of a session, in the order in which it passes through them. */
enum kinst_state {
	KINST_STATE_INACTIVE = 0,
	KINST_STATE_WARMUP = 1, /* BEGIN runs */
	KINST_STATE_ACTIVE = 2,
	KINST_STATE_DRAINING = 3, /* exit() was called; the consumer should STOP */
	KINST_STATE_COOLDOWN = 4, /* END runs */
	KINST_STATE_STOPPED = 5,
	KINST_STATE_KILLED = 6, /* no ioctl from the consumer for too long */
};

/* Losses since LOAD, all CPUs; the per-CPU ones are in the rings. */
struct kinst_status {
	__u32 state; /* enum kinst_state */
	__u32 exit_status; /* of exit(), valid from DRAINING on */
	__u64 dyn_drops; /* dynamic variables: out of memory */
	__u64 dyn_drops_rinsing; /* the same, while deleted variables wait for readers */
	__u64 dyn_drops_dirty; /* the same, while deleted variables wait for the cleaner */
	__u64 spec_drops; /* speculative records: buffer full */
	__u64 spec_busy; /* speculation() while the cleaner has not freed a buffer yet */
	__u64 spec_unavail; /* speculation() while all buffers are in use */
	__u64 stkstroverflows; /* 0: stacks are symbolized by the consumer */
	__u64 dblerrors; /* faults inside ERROR */
	__u64 nested; /* hits inside a probe's own work, not run */
	__u64 hits; /* probe firings that ran at least one ECB */
	__u64 reserved[4];
};

/* KINST_IOC_AGGSNAP: the aggregations of one CPU. */
struct kinst_aggsnap {
	__u64 buf; /* in: user address */
	__u32 size; /* in: bytes of buf; aggsize is always enough */
	__u32 cpu; /* in */
	__u32 used; /* out: bytes written */
	__u32 reserved;
	__u64 drops; /* out: aggregation drops on this CPU since LOAD */
};

/* The kernel's table of 64-bit system calls. */
struct kinst_syscalls {
	__u64 buf; /* in: user address of __u64[count]: the run-time address of each call's function, 0: none */
	__u32 count; /* in: entries of buf; out: entries of the table; 0: the kernel does not expose it */
	__u32 reserved;
};

/* The result of turning breakpoints into jumps, some time after they were armed. */
struct kinst_settled {
	__u32 jumps; /* out: number of jumps, of all sessions */
	__u32 reserved;
};

/* The probes that have fired: that have run at least one ECB since LOAD. */
struct kinst_fired {
	__u64 buf; /* in: user address of __u8[count], KINST_FIRED_* for each probe of the image */
	__u32 count; /* in: the probes of the image */
	__u32 reserved;
};

#define KINST_FIRED_NO 0
#define KINST_FIRED_YES 1
#define KINST_FIRED_LEFT 2 /* KINST_IMAGE_ONCE: removed unhit: module unloaded, or other edge taken too often */

#define KINST_IOC_INFO _IOR('k', 0x00, struct kinst_info)
#define KINST_IOC_INSNS _IOWR('k', 0x01, struct kinst_insns)
#define KINST_IOC_LOAD _IOWR('k', 0x02, struct kinst_load)
#define KINST_IOC_GO _IO('k', 0x03)
#define KINST_IOC_STOP _IO('k', 0x04)
#define KINST_IOC_STATUS _IOR('k', 0x05, struct kinst_status)
/* Takes the CPU's aggregation buffer and leaves an empty one. */
#define KINST_IOC_AGGSNAP _IOWR('k', 0x06, struct kinst_aggsnap)
#define KINST_IOC_SYSCALLS _IOWR('k', 0x07, struct kinst_syscalls)
/* Waits until each breakpoint that can be a jump is one. */
#define KINST_IOC_SETTLE _IOR('k', 0x08, struct kinst_settled)
#define KINST_IOC_FIRED _IOW('k', 0x09, struct kinst_fired)

/* ---- limits of an image; exceeding one is KINST_V_LIMIT unless the field has a separate code ---- */

#define KINST_MAX_IMAGE 0x4000000 /* bytes of an image */
#define KINST_MAX_DIFO_INSNS 65536 /* instructions of one DIFO */
#define KINST_MAX_TABLE 0x1000000 /* entries of a table */
#define KINST_MAX_ACTIONS 16384 /* of one clause */
#define KINST_MAX_VALUE 16384 /* bytes of a variable by reference that is not a string */
#define KINST_MAX_TRACEMEM 0x100000 /* bytes of tracemem() and printm() */
#define KINST_MAX_PAYLOAD 0x400000 /* bytes of one record */
#define KINST_MAX_FRAMES 1024 /* of stack() and ustack() */
#define KINST_MAX_USTACK 0x10000 /* bytes of the user's stack that ustack() copies */
#define KINST_MAX_AGG 65535 /* id of an aggregation */
#define KINST_MIN_STRSIZE 8
#define KINST_MAX_STRSIZE 65536
#define KINST_MIN_BUFSIZE 4096
#define KINST_MIN_AGGSIZE 4096
#define KINST_MIN_DYNVARSIZE 4096
#define KINST_MAX_SIZE 0x10000000000 /* bytes of any of the buffers */
#define KINST_MAX_NSPEC 1024
#define KINST_MAX_CLEAN_US 60000000 /* a minute */
#define KINST_MAX_STATIC 0x4000000 /* bytes of all globals, and of all clause-locals of one CPU */

/* ---- reasons: why a place cannot be traced (places/refuse.c, arch/) ---- */

/* The reason in a result, or KINST_OK. */
enum kinst_reason {
	KINST_OK = 0,
	KINST_R_NOFUNC = 1, /* the address is not the start of a function */
	KINST_R_RANGE = 2, /* the offset is beyond the function */
	KINST_R_BOUNDARY = 3, /* the offset is inside an instruction */
	KINST_R_MISMATCH = 4, /* the bytes are not the expected ones */
	KINST_R_BLACKLIST = 5, /* kprobe blacklist: noinstr, entry code */
	KINST_R_FTRACE = 6, /* inside the ftrace site */
	KINST_R_JUMP_LABEL = 7,
	KINST_R_STATIC_CALL = 8,
	KINST_R_ALTERNATIVE = 9,
	KINST_R_KPROBE = 10, /* a kprobe covers it */
	KINST_R_INIT = 11, /* .init.text: freed after boot */
	KINST_R_SELF = 12, /* the module itself */
	KINST_R_TRAP_PATH = 13, /* runs on the way to our own handler */
	KINST_R_UNDECODABLE = 14,
	KINST_R_INSN_STI_HLT = 15, /* sti; hlt and mwait */
	KINST_R_INSN_TRAP = 16, /* x86: int3, int n, into */
	KINST_R_INSN_IRET = 17, /* iret, far transfers, syscall and sysret family */
	KINST_R_INSN_SS = 18, /* mov or pop %ss */
	KINST_R_INSN_UD = 19, /* ud0, ud1, ud2 */
	KINST_R_INSN_PRIV = 20, /* swapgs, rsm, VMX, SVM, xbegin */
	KINST_R_INSN_LANDING_PAD = 21, /* the machine enforces it: on x86, endbr with IBT on */
	KINST_R_INSN_RSP = 22, /* an indirect call through %rsp */
	KINST_R_REACH = 23, /* a displacement would not fit */
	KINST_R_NOSLOT = 24, /* the trampoline pool is full */
	KINST_R_FOREIGN = 25, /* the function contains another tool's breakpoint or patch */
	KINST_R_GONE = 26, /* the module is being unloaded */
	KINST_R_NOT_BRANCH = 27, /* no such edge: the instruction does not lead there, or a hop is not a jump label */
	KINST_R_LIMIT = 28, /* max_probes */
	KINST_R_UNSUPPORTED = 29, /* an edge of this kind, or a probe kind of a newer ABI */
	KINST_R_MODEL = 30, /* return probe: not all exits of the function are known */
	KINST_R_RATE = 31, /* the timers of all sessions would fire too often: max_timer_hz */
	KINST_R_NOSYSCALL = 32, /* no system call has this number */
	KINST_R_TRACEPOINT = 33, /* the kernel lacks the tracepoint, or refuses it */
	KINST_R_NO_TRAP = 34, /* runs while no trap is handled: on a CPU that comes online, or from a copy */
	KINST_R_BUSY = 35, /* another session's probe is there, and one of the two is removed at its first hit */
	KINST_R_INSN_EXCLUSIVE = 36, /* arm64: between an exclusive load and its store, or copies memory in parts */
	KINST_R_MAX = 37,
};

/* ---- the image ---- */

#define KINST_IMAGE_MAGIC 0x54534e4b /* "KNST" */

/* A table of the image: count entries at off bytes from its start. off is a multiple of 8. */
struct kinst_table {
	__u32 off; /* bytes from the start of the image */
	__u32 count; /* entries */
};

/* The start of an image: its tables, and the options of the session. */
struct kinst_image {
	__u32 magic; /* KINST_IMAGE_MAGIC */
	__u16 version; /* KINST_ABI_VERSION */
	__u16 hdr_len; /* sizeof(struct kinst_image) */
	__u32 len; /* of the whole image */
	__u32 flags; /* KINST_IMAGE_* */
	struct kinst_table strtab; /* bytes; begins and ends with NUL */
	struct kinst_table insns; /* __u32: DIF instruction words */
	struct kinst_table ints; /* __u64 */
	struct kinst_table vars; /* struct kinst_var */
	struct kinst_table difos; /* struct kinst_difo */
	struct kinst_table actions; /* struct kinst_action */
	struct kinst_table clauses; /* struct kinst_clause */
	struct kinst_table probes; /* struct kinst_probe */
	struct kinst_table ecbs; /* struct kinst_ecb; EPID = index + 1 */
	__u64 bufsize; /* bytes of one CPU's ring; rounded up to a power of two */
	__u64 aggsize; /* bytes of one CPU's aggregations */
	__u64 dynvarsize; /* bytes of all thread-local variables and associative arrays */
	__u64 specsize; /* bytes of one speculation on one CPU */
	__u32 nspec; /* speculations at a time */
	__u32 strsize; /* 8 .. 64 KiB */
	__u32 target; /* pid of $target, or 0 */
	__u32 clean_us; /* between two cleanings of variables and speculations; 0: 10 ms */
	__u32 cpu; /* trace only this CPU; KINST_NONE: all */
	__u32 reserved;
};

#define KINST_IMAGE_DESTRUCTIVE 0x1 /* -w */
#define KINST_IMAGE_NOJUMP 0x4 /* nojump: breakpoints only, no jumps in their place */
/*
 * once: each INSN and EDGE probe is armed by GO, and removed at its first hit. It has a breakpoint that needs no slot.
 * An edge must be one of a conditional branch; it is removed earlier if the branch takes its other edge too often.
 */
#define KINST_IMAGE_ONCE 0x8
#define KINST_IMAGE_RING 0x2 /* bufpolicy=ring: new records overwrite the oldest */

/* A D type in DIF: a return type or a variable's type. */
struct kinst_dtype {
	__u8 kind; /* 0 D type (by value unless BYREF), 1 string */
	__u8 ckind; /* 1 integer 2 float 3 pointer 4 array 5 function 6 struct 7 union 8 enum */
	__u8 flags; /* KINST_T_* */
	__u8 reserved;
	__u32 size; /* bytes; by value: 0 1 2 4 8; string: 0 means strsize */
};

#define KINST_T_BYREF 0x1
#define KINST_T_BYUREF 0x2

/* A user variable. Ids from 0x500, numbered separately for each scope. */
struct kinst_var {
	__u32 name; /* strtab */
	__u32 id; /* from 0x500 */
	__u8 kind; /* 0 associative array, 1 scalar */
	__u8 scope; /* 0 global, 1 thread, 2 clause-local */
	__u16 flags; /* 1 read, 2 written */
	struct kinst_dtype type; /* of the value (of one element for an array) */
};

/* A DIF object: one expression of D as code, with its constants. */
struct kinst_difo {
	__u32 insn; /* first entry in insns */
	__u32 ninsns; /* instructions */
	__u32 int0; /* setx 0 is ints[int0] */
	__u32 nints; /* constants */
	__u32 str0; /* sets 0 is strtab + str0 */
	__u32 strlen; /* bytes, the last one NUL; 0: no strings */
	struct kinst_dtype rtype; /* type of the value that ret returns */
};

/*
 * Actions of one clause run in order. A recording action has one record in the
 * clause's payload; records are laid out in order, each aligned to the largest
 * power of two <= 8 that divides its size; the payload is rounded up to 8.
 *
 * An aggregating action (class 0x0700) takes the ntuple preceding actions
 * as its key (DIFEXPR, STACK, USTACK, SYM, MOD, UADDR ...): these have no record in
 * the payload, but are laid out by the same rule in the aggregation's entry.
 */
struct kinst_action {
	__u16 kind; /* KINST_ACT_* */
	__u16 ntuple; /* aggregating: the actions before it that are its key */
	__u32 difo; /* index, or KINST_NONE */
	__u32 incr; /* quantize family: DIFO of the increment, or KINST_NONE (1) */
	__u32 agg; /* aggregating: id of the aggregation variable, from 1 */
	__u64 arg; /* by kind, see below */
};

/* kind: record */
#define KINST_ACT_DIFEXPR 0x0001 /* value of the return type; size 0: none */
#define KINST_ACT_EXIT 0x0002 /* 4 */
#define KINST_ACT_PRINTF 0x0003 /* as DIFEXPR, one action an argument */
#define KINST_ACT_PRINTA 0x0004 /* 8: arg */
#define KINST_ACT_LIBACT 0x0005 /* 8: value of difo, or arg if none */
#define KINST_ACT_TRACEMEM 0x0006 /* arg bytes from the address that difo gives */
#define KINST_ACT_TRACEMEM_DYN 0x0007 /* 8: the length for the following TRACEMEM */
#define KINST_ACT_PRINTM 0x0008 /* 8 + arg: length, and up to arg bytes, of the memref that difo gives */
/*
 * 8 (pid) + 8 * (arg & 0xffffffff), which ends with 0 if shorter. If arg >> 32 is not 0, struct kinst_ustack and that many
 * bytes follow, a multiple of 8.
 */
#define KINST_ACT_USTACK 0x0101
#define KINST_ACT_USYM 0x0103 /* 16: pid, address */
#define KINST_ACT_UMOD 0x0104 /* 16 */
#define KINST_ACT_UADDR 0x0105 /* 16 */
#define KINST_ACT_STOP 0x0201 /* none; destructive */
#define KINST_ACT_RAISE 0x0202 /* none; destructive */
#define KINST_ACT_SYSTEM 0x0203 /* as PRINTF; destructive */
#define KINST_ACT_FREOPEN 0x0204 /* as PRINTF; destructive */
#define KINST_ACT_STACK 0x0401 /* 8 * arg; ends with 0 if shorter */
#define KINST_ACT_SYM 0x0402 /* 8: address that difo gives */
#define KINST_ACT_MOD 0x0403 /* 8 */
#define KINST_ACT_BREAKPOINT 0x0501
#define KINST_ACT_PANIC 0x0502
#define KINST_ACT_CHILL 0x0503
#define KINST_ACT_SPECULATE 0x0601
#define KINST_ACT_COMMIT 0x0602
#define KINST_ACT_DISCARD 0x0603
#define KINST_ACT_COUNT 0x0701
#define KINST_ACT_MIN 0x0702
#define KINST_ACT_MAX 0x0703
#define KINST_ACT_AVG 0x0704
#define KINST_ACT_SUM 0x0705
#define KINST_ACT_STDDEV 0x0706
#define KINST_ACT_QUANTIZE 0x0707
#define KINST_ACT_LQUANTIZE 0x0708
#define KINST_ACT_LLQUANTIZE 0x0709

/* The state from which a program without frame pointers can be unwound; the copy of its stack follows. */
struct kinst_ustack {
	__u64 bytes; /* of the stack, from the stack pointer upwards, that could be read; the rest of the copy is 0 */
	__u64 nregs; /* 16 on x86-64, 32 on arm64; 0 if not a 64-bit program */
	__u64 ip; /* rip, pc */
	__u64 regs[32]; /* by DWARF number, up to nregs */
};

/* A clause: its predicate and actions. */
struct kinst_clause {
	__u32 predicate; /* DIFO, or KINST_NONE */
	__u32 action; /* first entry in actions */
	__u32 nactions; /* at most KINST_MAX_ACTIONS */
	__u32 flags; /* KINST_CLAUSE_* */
};

#define KINST_CLAUSE_RECORD 0x1 /* a record is written even if the payload is empty */

/* Kinds of probes. */
#define KINST_P_BEGIN 0
#define KINST_P_END 1
#define KINST_P_ERROR 2
#define KINST_P_INSN 3 /* the instruction at func + offset */
#define KINST_P_EDGE 4 /* the branch at func + offset, when it goes to func + to */
#define KINST_P_FBT_ENTRY 5 /* func is entered */
#define KINST_P_FBT_RETURN 6 /* func is left; arg0 offset, arg1 value */
#define KINST_P_PROFILE 7 /* every func nanoseconds on every CPU; arg0 or arg1 pc, arg2 nanoseconds late */
#define KINST_P_TICK 8 /* every func nanoseconds on one CPU */
#define KINST_P_SYSCALL_ENTRY 9 /* system call number func begins; its arguments */
#define KINST_P_SYSCALL_RETURN 10 /* system call number func returns; arg0 and arg1 value */
#define KINST_P_SDT 11 /* the tracepoint whose function __traceiter_NAME is at func; its arguments */
#define KINST_P_EVENT 12 /* func: enum kinst_event */
/* Never fires: func + to is a gate (kinst/sdt.h) of func's driver, open as long as the session traces. */
#define KINST_P_GATE 13
#define KINST_P_KINDS 14

#define KINST_MIN_INTERVAL 200000 /* nanoseconds: 5000 Hz */
#define KINST_MAX_INTERVAL 0x4000000000000000
#define KINST_MAX_SYSCALLS 4096 /* numbers are below it */

/* Events of processes, threads and disks. The arguments are the native ones of src/dlib's providers. */
enum kinst_event {
	KINST_E_PROC_CREATE = 0, /* struct task_struct * of the new process */
	KINST_E_PROC_EXEC_SUCCESS = 1,
	KINST_E_PROC_EXIT = 2, /* CLD_EXITED, CLD_KILLED or CLD_DUMPED */
	KINST_E_PROC_LWP_CREATE = 3, /* struct task_struct * of the new thread */
	KINST_E_PROC_LWP_EXIT = 4,
	KINST_E_PROC_SIGNAL_SEND = 5, /* struct task_struct * of the receiver, twice; the signal */
	KINST_E_PROC_SIGNAL_DISCARD = 6, /* the same */
	KINST_E_PROC_SIGNAL_HANDLE = 7, /* the signal, its siginfo, the function that handles it */
	KINST_E_SCHED_OFF_CPU = 8, /* struct task_struct * of the thread that runs next */
	KINST_E_SCHED_PREEMPT = 9,
	KINST_E_SCHED_SLEEP = 10,
	KINST_E_SCHED_WAKEUP = 11, /* struct task_struct * of the thread */
	KINST_E_IO_START = 12, /* struct bio * */
	KINST_E_MAX = 13,
};

/* A probe that the session arms. */
struct kinst_probe {
	__u32 id; /* the D variable id; numbered by the session */
	__u32 kind; /* KINST_P_* */
	__u64 func; /* run-time address of the function's symbol; or interval; or number of the system call or event */
	__u32 offset; /* of an instruction or a branch, from func, in bytes */
	__u32 to; /* of an edge: a signed distance from func, since f.cold or another function may precede f */
	/* For an edge: offsets of jump labels between the instruction and to, in the order of execution; 0: none. */
	__u32 over[2];
	__u32 prov; /* probeprov: a name in strtab, like the next three */
	__u32 mod; /* probemod */
	__u32 name_func; /* probefunc */
	__u32 name; /* probename */
	__u8 nbytes; /* of bytes to compare with the instruction; 0: do not compare */
	__u8 reserved[7];
	__u8 bytes[16]; /* the instruction that the consumer saw there */
};

/* An enabling control block: a clause that runs when a probe fires. A probe runs its ECBs in table order. */
struct kinst_ecb {
	__u32 probe; /* index in probes */
	__u32 clause; /* index in clauses */
	/*
	 * strtab: the inlined function whose copy the probe is at (inlinefunc); stacks then begin with the place. 0: no
	 * copy. Not part of the probe, since copies of several functions can begin at one instruction.
	 */
	__u32 inlined;
};

/* ---- the verifier's refusals (program/dif/verify.c; the Rust verifier uses the same codes) ---- */

/* The rule that an image broke. */
enum kinst_verify {
	KINST_V_OK = 0,
	KINST_V_HEADER = 1,
	KINST_V_TABLE = 2, /* a table is outside the image, misaligned or overlaps the header */
	KINST_V_STRTAB = 3,
	KINST_V_INDEX = 4, /* a reference to an entry that does not exist */
	KINST_V_RESERVED = 5, /* a reserved field or operand is not zero */
	KINST_V_OPCODE = 6,
	KINST_V_REGISTER = 7,
	KINST_V_DEST_R0 = 8,
	KINST_V_BRANCH = 9, /* out of the program, or not strictly forward */
	KINST_V_INT = 10,
	KINST_V_STR = 11,
	KINST_V_VARIABLE = 12, /* unknown, of another scope or kind, or read-only */
	KINST_V_SUBR = 13,
	KINST_V_TYPE = 14,
	KINST_V_NO_RET = 15,
	KINST_V_ACTION = 16, /* unknown or not supported, or its DIFO's type does not fit */
	KINST_V_TUPLE = 17,
	KINST_V_DESTRUCTIVE = 18,
	KINST_V_LIMIT = 19,
	KINST_V_PROBE = 20,
	KINST_V_OPTION = 21,
	KINST_V_MAX = 22,
};

/* ---- rings ---- */

/*
 * mmap of the session at page offset cpu * KINST_RING_PAGES:
 *   page 0     struct kinst_ring_consumer, read and write
 *   page 1     struct kinst_ring_producer, read only
 *   page 2 ..  bufsize bytes of data, read only
 * Positions count bytes from the start and are never reduced: data[pos & (size - 1)].
 * A record never wraps: a PAD record fills the end.
 */
#define KINST_RING_PAGES 0x100000

/* The consumer's page of a ring. */
struct kinst_ring_consumer {
	__u64 pos; /* everything before it is consumed */
};

/* The kernel's page of a ring. */
struct kinst_ring_producer {
	__u64 pos; /* everything before it is reserved; stop at the first record that is BUSY */
	__u64 size; /* of the data, a power of two */
	__u64 drops; /* records that did not fit */
	__u64 errors; /* faults */
	__u64 tail; /* KINST_IMAGE_RING: everything before it was overwritten; read it after the session has STOPPED */
};

#define KINST_REC_BUSY 0x80000000 /* in kinst_rec.len: the record is being written */
#define KINST_REC_PAD 0x40000000 /* in kinst_rec.len: padding; the next record is at the start of the ring */
#define KINST_REC_LEN 0x3fffffff /* mask of the length in kinst_rec.len */

/* The header of a record; the payload follows. */
struct kinst_rec {
	__u32 len; /* including this header, a multiple of 8, and KINST_REC_* */
	__u32 epid; /* enabled probe id, or KINST_EPID_FAULT */
	__u64 timestamp; /* ns, as the D variable */
};

#define KINST_EPID_FAULT 0xffffffff /* the payload is struct kinst_fault */

/* A fault of DIF: the reason why a clause was abandoned. */
enum kinst_flt {
	KINST_FLT_UNKNOWN = 0,
	KINST_FLT_BADADDR = 1,
	KINST_FLT_BADALIGN = 2,
	KINST_FLT_ILLOP = 3,
	KINST_FLT_DIVZERO = 4,
	KINST_FLT_NOSCRATCH = 5,
	KINST_FLT_KPRIV = 6,
	KINST_FLT_UPRIV = 7,
	KINST_FLT_TUPOFLOW = 8,
	KINST_FLT_BADSTACK = 9,
	KINST_FLT_BADINDEX = 11, /* the value is the index */
};

/* The payload of a record whose EPID is KINST_EPID_FAULT; ERROR has the same as its arguments. */
struct kinst_fault {
	__u32 epid; /* of the ECB that faulted */
	__u32 action; /* 0 the predicate, n the nth action */
	__s32 offset; /* of the DIF instruction in bytes, or -1 */
	__u32 fault; /* enum kinst_flt */
	__u64 value; /* address for BADADDR and BADALIGN */
};

/* An entry of an aggregation snapshot; the key and then the value follow, laid out by the rule of the actions. */
struct kinst_agg_entry {
	__u32 len; /* with this header, a multiple of 8 */
	__u32 action; /* index in actions of the first aggregating action that made it */
};

#endif /* _UAPI_KINST_H */
