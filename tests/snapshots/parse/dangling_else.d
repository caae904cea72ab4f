BEGIN
{
	if (a) if (b) x; else y;
	if (a) { if (b) x; } else y;
	if (a) if (b) x; else y; else z;
	if (a) if (b) { x; y; } else if (c) z; else { w }
}
