BEGIN { c = 'a'; printf("%c", c); this->d = 0; this->d = timestamp; }
