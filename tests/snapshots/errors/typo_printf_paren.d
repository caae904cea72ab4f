BEGIN { printf"hi"; }
