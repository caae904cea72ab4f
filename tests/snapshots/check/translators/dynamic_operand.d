BEGIN { @a = count(); trace((1, @a)); }
