BEGIN { trace(1); }

END
{
	printf("%d\n" pid);
}
