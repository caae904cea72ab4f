# executed.sh: the counts of --annotate for functions that only rare.c calls, and that do the same each time: none of
# them checks whether another thread waits for the CPU. For `cargo xtask executed`.
functions="do_mq_timedsend do_mq_timedreceive do_mq_getsetattr do_msgsnd do_msgrcv newque msgctl_down newary semctl_main semctl_setval semctl_down
__do_semtimedop newseg do_shmat ksys_shmdt shmctl_stat shmctl_down do_timerfd_gettime do_setitimer do_getitimer common_timer_set common_timer_get
eventfd_write eventfd_read do_epoll_ctl ep_insert vfs_utimes do_utimes chmod_common chown_common vfs_statfs simple_xattr_set
do_linkat do_symlinkat do_renameat2 vfs_rename do_mknodat do_rmdir do_sysinfo do_sys_times set_one_prio"
./rare
for function in $functions; do grep -q " [tT] $function\$" /proc/kallsyms && echo "--annotate vmlinux:$function"; done >options
exec dtrace -q $(cat options) --json -c ./rare
