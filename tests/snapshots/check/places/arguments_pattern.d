/* test: kernel, -i */
4711 { trace(args[0]); }
