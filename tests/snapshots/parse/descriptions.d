BEGIN, END, tick-1sec, profile-997hz, syscall::*read*:entry, fbt:::[!a-c]*, vmlinux:f:,
kinst::f:13, kinst::f#2:0, kinst::f:file.c@12, 17, pid$target:libc:malloc:entry, sh$pid:::x, a:b:c:d
{
}
