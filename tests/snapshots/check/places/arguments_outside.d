/* test: kernel */
inline long first = args[0]; BEGIN { trace(first); }
