BEGIN,
END,
{ }
