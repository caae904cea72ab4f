/* The number of a system call, where struct pt_regs has it: at the end of the task's stack, without its guard page. */

#pragma D depends_on module vmlinux

inline uintptr_t __stack_size[struct task_struct *T] =
    T->stack_vm_area->size / (T->stack_vm_area->nr_pages + 1) * T->stack_vm_area->nr_pages;
inline int __system_call[struct task_struct *T] =
    ((struct pt_regs *)((uintptr_t)T->stack + __stack_size[T]) - 1)->syscallno;
