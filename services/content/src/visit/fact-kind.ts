import { create, type DescMessage, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { type Timestamp, timestampFromMs } from "@bufbuild/protobuf/wkt";
import type { Database } from "@tidings/database/database";
import { type FactSource, factSource } from "@tidings/messaging/facts";
import type { FactColumns } from "./fact-table.ts";

/** The facts of a table, and the event that carries them. */
export interface FactKind<S extends DescMessage> {
  /** The message of an event: up to 500 facts. */
  schema: S;
  table: string;
  columns: FactColumns;
  messageOf(rows: FactRow[]): MessageInitShape<S>;
}

/** All facts of a kind, for services that make a replica of them from nothing. */
export function listedFacts<S extends DescMessage>(
  database: Database,
  { schema, table, columns, messageOf }: FactKind<S>,
): FactSource {
  return factSource(database, {
    type: schema.typeName,
    table,
    key: "id",
    columns: Object.keys(columns),
    eventsOf: (rows) => [toBinary(schema, create(schema, messageOf(rows)))],
  });
}

/** A fact as a new row, or as the database has it: there each value is a text. */
export type FactRow = Readonly<Record<string, unknown>>;

/** Reads the columns of a fact for its event. */
export function factReader(values: FactRow) {
  return {
    text: (name: string): string => String(values[name] ?? ""),
    number: (name: string): number => Number(values[name] ?? 0),
    optional: (name: string): number | undefined => (values[name] == null ? undefined : Number(values[name])),
    flag: (name: string): boolean => values[name] === true || values[name] === "t",
    time(name: string): Timestamp | undefined {
      const value = values[name];
      if (value == null) return undefined;
      // The database writes UTC as `+00`, which is no offset of ISO 8601.
      return timestampFromMs(Date.parse(String(value).replace(/\+00$/, "Z")));
    },
    /** A list of texts. */
    texts(name: string): string[] {
      const value = values[name];
      return Array.isArray(value) ? value : JSON.parse(String(value ?? "[]"));
    },
    value: (name: string): unknown => values[name],
  };
}
