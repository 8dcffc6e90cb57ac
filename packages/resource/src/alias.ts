import type { DescMessage } from "@bufbuild/protobuf";
import { prepared } from "@tidings/database/database";
import { advisoryLock } from "@tidings/database/lock";
import type { Transaction } from "@tidings/database/transaction";
import { alias as aliasOption } from "@tidings/proto/tidings/api/v1/options";
import { optionOf } from "@tidings/rpc/option";
import anyAscii from "any-ascii";
import { type Column, readField, writeField } from "./columns.ts";
import type { Resource } from "./resource.ts";

const LENGTH_MAX = 180;

/**
 * Latin letters, digits, hyphens for spaces, and underscores where they are kept; everything else is dropped. `fallback` when
 * nothing is left.
 */
export function cleanAlias(text: string, fallback: string, { keepsUnderscores = false } = {}): string {
  const alias = anyAscii(text)
    .toLowerCase()
    .replaceAll(keepsUnderscores ? /[^a-z0-9_\s-]/g : /[^a-z0-9\s-]/g, "")
    .replaceAll(/[\s-]+/g, "-")
    .slice(0, LENGTH_MAX)
    .replaceAll(/^-|-$/g, "");
  return alias || fallback;
}

/** The first of `base`, `base1`, `base2`, … that is not taken; `base` gives way where it would be longer than allowed. */
export function freeAlias(
  base: string,
  isTaken: (alias: string) => boolean,
  { firstSuffix = 1, lengthMax = Number.POSITIVE_INFINITY } = {},
): string {
  if (!isTaken(base)) return base;
  for (let suffix = firstSuffix; ; suffix += 1) {
    const alias = `${base.slice(0, lengthMax - String(suffix).length)}${suffix}`;
    if (!isTaken(alias)) return alias;
  }
}

/** Gives new and changed rows an alias that no other row has. */
export type AliasMaker = (
  transaction: Transaction,
  changes: { draft: Resource; before: Resource | undefined }[],
) => Promise<void>;

/** Makes the aliases of a table whose message declares one. */
export function aliasMaker(table: string, schema: DescMessage, columns: Column[]): AliasMaker | undefined {
  const column = columns.find(({ field }) => optionOf(field, aliasOption).of !== "");
  if (!column) return undefined;
  const { of, within, keepsUnderscores } = optionOf(column.field, aliasOption);
  const source = named(columns, of);
  const scope = within === "" ? undefined : named(columns, within);
  const lock = advisoryLock(`${table}_alias`);
  const scopeSql = scope ? `"${scope.name}"` : "''";
  const taken = prepared(
    `${table}_alias_taken`,
    `select id, ${column.name} as alias, ${scopeSql} as scope from ${table} where ${column.name} like any ($1::text[])`,
  );
  const textOf = (row: Resource, of: Column) => String(readField(row, of) ?? "");
  const fallback = schema.name.toLowerCase();

  return async (transaction, changes) => {
    const wanted = changes.flatMap(({ draft, before }) => {
      const sent = textOf(draft, column).trim();
      const kept = before ? textOf(before, column) : "";
      if (sent === kept && kept !== "") return [];
      const text = sent || kept || textOf(draft, source);
      return [{ draft, base: cleanAlias(text, fallback, { keepsUnderscores }) }];
    });
    if (wanted.length === 0) return;
    // One after the other: what two make at the same time would be the same.
    lock.exclusive(transaction);
    const rows = await transaction.query(taken, [[...new Set(wanted.map(({ base }) => `${base}%`))]]);
    const owners = new Map(rows.map(({ id, alias, scope }) => [`${scope} ${alias}`, Number(id)]));
    for (const { draft, base } of wanted) {
      const key = (alias: string) => `${scope ? textOf(draft, scope) : ""} ${alias}`;
      const alias = freeAlias(base, (candidate) => (owners.get(key(candidate)) ?? draft.id) !== draft.id);
      writeField(draft, column, alias);
      // A new row has no id yet: what it takes is nobody else's.
      owners.set(key(alias), draft.id || Number.NaN);
    }
  };
}

function named(columns: Column[], name: string): Column {
  const column = columns.find((candidate) => candidate.name === name);
  if (!column) throw new Error(`no column ${name}`);
  return column;
}
