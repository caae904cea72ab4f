BEGIN { "f"(1); }
