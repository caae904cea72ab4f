/* test: stages: json */
/* nothing */
