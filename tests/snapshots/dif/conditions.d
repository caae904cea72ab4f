/* test: stages: typed */
BEGIN
{
        x = 0;
}

BEGIN
{
        if (pid > 100 && execname != "init") {
                x++;
        } else
                trace(x ? "some" : "none");
}
