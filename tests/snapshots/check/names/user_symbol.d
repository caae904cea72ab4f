/* test: kernel */
BEGIN { trace(vmlinux``init_task); }
