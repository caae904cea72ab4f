BEGIN { switch (x) { } }
