BEGIN { trace(curthread->pid); }
