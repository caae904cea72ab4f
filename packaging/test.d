provider test {
    probe begin(int);
};
