fbt::$1:entry { }
