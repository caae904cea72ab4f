BEGIN { trace(jid); }
