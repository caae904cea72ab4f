/* test: variables: 64256 */
BEGIN { trace(v1); more = 1; }
