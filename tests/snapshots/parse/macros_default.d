#pragma D option defaultargs
BEGIN { trace($1); trace($$1); self->x = $7 }
