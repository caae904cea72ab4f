/* test: kernel */
struct list_head {
	int count;
	struct {
		struct list_head inner;
	} nested;
};

BEGIN { trace(1); }
