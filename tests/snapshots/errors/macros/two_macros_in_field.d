fbt::$1$2:entry { }
