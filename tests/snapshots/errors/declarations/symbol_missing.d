BEGIN { x = vmlinux`; }
