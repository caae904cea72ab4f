/* sqlite.c: SQL in a database in memory. */
#include <sqlite3.h>

#include "text.h"

static const char *const statements[] = {
	"CREATE TABLE a(id INTEGER PRIMARY KEY, word TEXT, number REAL, blob)",
	"CREATE TABLE b(id INTEGER, a INTEGER REFERENCES a(id), note TEXT)",
	"CREATE INDEX words ON a(word, number)",
	"CREATE TABLE log(what)",
	"CREATE TRIGGER t AFTER DELETE ON a BEGIN INSERT INTO log VALUES(old.word); END",
	"BEGIN",
	"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<400) "
	"INSERT INTO a SELECT i, printf('w%04d', i*7919%1000), i/3.0, hex(i*i) FROM n",
	"INSERT INTO b SELECT id*2, id%37, substr(word,2)||upper(word) FROM a WHERE id%3",
	"COMMIT",
	"SELECT count(*), sum(number), min(word), max(blob), group_concat(id) FROM a WHERE word LIKE 'w00%'",
	"SELECT a.word, count(*) AS c, avg(b.id) FROM a JOIN b ON b.a=a.id GROUP BY a.word HAVING c>2 ORDER BY c DESC, 1",
	"SELECT word FROM a WHERE id IN (SELECT a FROM b WHERE note GLOB '*9*') EXCEPT SELECT note FROM b ORDER BY 1 LIMIT 9",
	"SELECT id, sum(number) OVER (PARTITION BY id%5 ORDER BY word ROWS 3 PRECEDING) FROM a WHERE id<60",
	"UPDATE a SET number=round(number*1.5,2), word=replace(word,'1','one') WHERE id BETWEEN 50 AND 150",
	"SAVEPOINT s",
	"DELETE FROM a WHERE number>100 OR word IS NULL",
	"ROLLBACK TO s",
	"DELETE FROM a WHERE id%11=0",
	"SELECT CASE WHEN typeof(x)='null' THEN 1 ELSE coalesce(x,2) END, date('2020-02-29','+1 year'), abs(-3), quote(x'00ff') "
	"FROM (SELECT NULL AS x UNION SELECT 'a' UNION SELECT 2.5)",
	"SELECT json_extract('{\"a\":[1,2,{\"b\":\"c\"}]}','$.a[2].b'), json_group_array(id) FROM a WHERE id<20",
	"SELECT count(DISTINCT what), total(length(what)) FROM log",
	"EXPLAIN QUERY PLAN SELECT * FROM a, b WHERE a.id=b.a AND a.word>'w5'",
	"REINDEX",
	"ANALYZE",
	"VACUUM",
	"PRAGMA integrity_check",
	"SELECT nothing FROM a",
	"INSERT INTO a(id) VALUES(1)",
	"DROP TABLE b",
};

static int row(void *rows, int columns, char **values, char **names)
{
	(void)names;
	for (int i = 0; i < columns; i++)
		*(unsigned long *)rows = *(unsigned long *)rows * 31 + (values[i] ? sum(values[i], strlen(values[i])) : 1);
	return 0;
}

int main(void)
{
	sqlite3 *db;

	if (sqlite3_open(":memory:", &db) != SQLITE_OK)
		abort();
	for (size_t i = 0; i < sizeof(statements) / sizeof(*statements); i++) {
		unsigned long rows = 0;
		int result = sqlite3_exec(db, statements[i], row, &rows, NULL);

		printf("%zu: %d %lx\n", i, result, rows);
	}
	sqlite3_close(db);
	return 0;
}
