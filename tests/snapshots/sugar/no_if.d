BEGIN /x/ { trace(1); y = 2 }
END
{
}
