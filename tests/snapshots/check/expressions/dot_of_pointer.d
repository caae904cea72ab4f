/* test: kernel */
BEGIN { trace(curthread.pid); }
