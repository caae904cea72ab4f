/* test: kernel */
BEGIN { STATE_DEAD = 1; trace(curthread->exit_state == STATE_DEAD); }
