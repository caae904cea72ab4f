char buf[16]; BEGIN { x = buf; }
