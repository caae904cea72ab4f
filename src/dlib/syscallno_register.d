/* The number of a system call, where it is a register: orig_ax, which uregs[] calls R_ERR. */

#pragma D depends_on module vmlinux

inline int __system_call[struct task_struct *T] = T == curthread ? uregs[R_ERR] : 0;
