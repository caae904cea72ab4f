/* test: kernel */
BEGIN { trace(sizeof (curthread->delta)); }
