/** Columns in Postgres' text form: most values go straight to JSON and need no other. */
export type Row = Record<string, string | null>;

/** SQL and, when it is worth preparing, the name it is prepared under. */
export interface Statement {
  name?: string;
  text: string;
}
