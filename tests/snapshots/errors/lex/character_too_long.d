BEGIN { trace('123456789'); }
