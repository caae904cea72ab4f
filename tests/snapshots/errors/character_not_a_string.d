BEGIN { printf('hello, world'); }
