struct out { int number; string text; char name[8]; };

translator struct out < int i > {
	number = i + 1;
	text = "t";
	name = "n";
};

BEGIN
{
	this->made = xlate <struct out>(pid);
	trace(this->made.number);
}
