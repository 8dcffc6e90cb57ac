import {
  DummyDriver,
  Kysely,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type RawBuilder,
} from "kysely";

/** Builds SQL only; it never connects. */
const compiler = new Kysely<unknown>({
  dialect: {
    createAdapter: () => new PostgresAdapter(),
    createDriver: () => new DummyDriver(),
    createIntrospector: (db) => new PostgresIntrospector(db),
    createQueryCompiler: () => new PostgresQueryCompiler(),
  },
});

/** The text of a statement with `$1`, `$2`, ..., and what they stand for. */
export function compileSql(query: RawBuilder<unknown>): { text: string; values: unknown[] } {
  const { sql: text, parameters } = query.compile(compiler);
  return { text, values: [...parameters] };
}
