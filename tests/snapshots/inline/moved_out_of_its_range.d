kinst:vmlinux:hoisted:entry { trace(arg0); }
