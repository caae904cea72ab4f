BEGIN { trace("日本語"); trace(; }
