#error this script needs two arguments
BEGIN { }
