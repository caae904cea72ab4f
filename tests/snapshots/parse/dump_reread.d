dtrace:::ERROR
{
        self->%error = 1;
}

:::BEGIN
/!self->%error && this->%condition_12/
{
        this->%condition_1 = 1 && x % y;
}
