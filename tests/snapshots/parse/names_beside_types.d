/* test: type: size_t list proc_t */
BEGIN
{
	list = 1; list++; (list)(x); trace((size_t)x); trace((proc_t *)x); x = list;
}
