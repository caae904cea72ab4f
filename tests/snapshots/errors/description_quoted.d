"BEGIN" { }
