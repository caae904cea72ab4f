/* with: -x bufpolicy=ring -x bufsize=8k -x cpu=0 -c 'taskset 1 ./calls getppid 100' */
#pragma D option quiet
fbt::__*64_sys_getppid:entry /pid == $target/ { printf("%d %1000s\n", ++n, "x"); }
fbt::__*64_sys_getppid:entry /pid == $target && n % 3 == 0/ { printf("every third\n"); }
