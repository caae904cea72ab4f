BEGIN /pid == 1/
END { }
