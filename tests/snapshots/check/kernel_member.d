BEGIN { trace(curthread->comm); }
