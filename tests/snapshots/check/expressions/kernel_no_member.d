/* test: kernel */
BEGIN { trace(curthread->com); }
