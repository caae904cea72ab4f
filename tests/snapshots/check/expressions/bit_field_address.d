/* test: kernel */
BEGIN { trace(&curthread->delta); }
