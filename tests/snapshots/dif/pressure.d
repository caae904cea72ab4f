/* test: stages: typed */
BEGIN
{
        x = 1;
        trace(x++ + (x++ + (x++ + (x++ + (x++ + (x++ + (x++ + (x++ + x))))))));
        trace((x && (x > 3 || x < 1)) ^^ !x);
}
