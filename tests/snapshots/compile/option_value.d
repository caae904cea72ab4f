#pragma D option bufsize=many
BEGIN { }
