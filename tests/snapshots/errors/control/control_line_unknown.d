#pragm D option quiet
BEGIN { }
