/* test: empty */
#pragma D option quiet
