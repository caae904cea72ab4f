/* A program whose constructor and main() leave marks. */
void mark(const char *word);

__attribute__((constructor)) static void begin(void)
{
	mark("program");
}

int main(void)
{
	mark("main");
	return 0;
}
