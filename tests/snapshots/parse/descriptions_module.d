/* test: -m */
fbt:nf_tables, ext4
