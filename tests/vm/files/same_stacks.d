/* with: -c './calls write 3 4' */
#pragma D option quiet
fbt::ksys_write:entry /pid == $target && !entries++/ { printf("%d %a\n", stackdepth, caller); stack(); stack(2); }
fbt::vfs_write:return /pid == $target && !returns++/ { printf("%d %a\n", stackdepth, caller); stack(3); }
kinst::vfs_write:5, kinst::vfs_write:1[5-9], kinst::vfs_write:[2-9][0-9] /pid == $target/ { @places[probename, stackdepth, stack(2)] = count(); }
syscall::write:entry /pid == $target && !calls++/ { printf("%d %a\n", stackdepth, caller); stack(); printf("%d %d\n", regs[R_RDX], ustackdepth > 0); }
syscall::write:return /pid == $target && !ends++/ { printf("%d %a\n", stackdepth, caller); stack(3); }
sdt:::sched_process_exit /pid == $target && !exits++/ { printf("%d %a\n", stackdepth, caller); stack(3); }
proc:::exit /pid == $target/ { stack(3); }
fbt::ksys_write:entry /pid == $target && entries == 1/ { entries++; trace(*(int *)0); }
syscall::write:entry /pid == $target && calls == 1/ { calls++; trace(*(int *)0); }
ERROR { printf("%s %d\n", probename, stackdepth); stack(4); @s[stack(2)] = count(); }
