import type { DescMessage } from "@bufbuild/protobuf";
import { type Database, prepared } from "@tidings/database/database";
import type { Transaction } from "@tidings/database/transaction";
import type { Reference } from "@tidings/proto/tidings/type/v1/reference";
import { isNothing, isObject, jsonOf, kept, notValid } from "@tidings/resource/json-member";
import { placeOf } from "@tidings/resource/resource";
import type { Call } from "@tidings/rpc/call";
import { notOneOf, type Violation } from "@tidings/rpc/fault";
import { textOf, wholeNumberOf } from "@tidings/runtime/plain-text";
import { type RawBuilder, sql } from "kysely";
import { isWinnerCriterion, WINNER_CRITERIA } from "./winner.ts";

/** The ways in which one belongs to another of its kind. */
type Tie = "variant" | "translation";

/** The rows of a write by tie: edited rows with children, and named parents that are children themselves. */
export type Family = Record<Tie, { parents: Set<number>; children: Set<number> }>;

/** More of them are not shown with the one they belong to. */
const CHILDREN_SHOWN_MAX = 100;

const PARENT = { variant: "variantParent", translation: "translationParent" } as const;
const CHILDREN = { variant: "variantChildren", translation: "translationChildren" } as const;

interface Member {
  id: number;
  variantParent?: Reference | undefined;
  translationParent?: Reference | undefined;
  variantChildren?: Uint8Array | undefined;
  translationChildren?: Uint8Array | undefined;
}

/**
 * Variants of an A/B test and translations: each belongs to one that belongs to nobody. Lists hold those alone; the others
 * are shown with them, as `shown` (SQL for JSON) has them.
 */
export function family(schema: DescMessage, shown: string, ties: Tie[]) {
  const { table } = placeOf(schema);
  const kinStatement = prepared(
    `${table}_kin`,
    ties
      .map(
        (tie) => `select p.id, '${tie}' as tie, 'parents' as role from unnest($1::integer[]) as p (id)
        where exists (select from ${table} c where c.${tie}_parent_id = p.id)
        union all select id, '${tie}', 'children' from ${table}
        where id = any ((select $2::integer[])::integer[]) and ${tie}_parent_id is not null`,
      )
      .join(" union all "),
  );
  const lockStatement = prepared(
    `${table}_lock_parents`,
    `select id from ${table} where id = any ((select $1::integer[])::integer[]) order by id for no key update`,
  );
  const children = ties.map((tie) => ({
    tie,
    statement: prepared(
      `${table}_${tie}_children`,
      `select p.id, (select json_agg(c.json) from (
         select ${shown} as json from ${table} where ${tie}_parent_id = p.id order by id limit ${CHILDREN_SHOWN_MAX}) c
       ) as json from unnest($1::integer[]) as p (id)`,
    ),
  }));

  return {
    listed: parentless(ties),
    async load(transaction: Transaction, ids: number[], members: (Member | undefined)[]): Promise<Family> {
      const variants: Family = {
        variant: { parents: new Set(), children: new Set() },
        translation: { parents: new Set(), children: new Set() },
      };
      const named = ties.flatMap((tie) => members.flatMap((member) => member?.[PARENT[tie]]?.id ?? []));
      if (named.length === 0) return variants;
      // A parent stays one until the write is done.
      await transaction.query(lockStatement, [named]);
      for (const { id, tie, role } of await transaction.query(kinStatement, [ids, named]))
        variants[tie as Tie][role as "parents" | "children"].add(Number(id));
      return variants;
    },
    check(draft: Member, before: Member | undefined, variants: Family): Violation[] {
      return ties.flatMap((tie) => violationsOf(tie, draft, before, variants[tie]));
    },
    async show(items: Member[], { deadlineMs }: Call, database: Database): Promise<void> {
      const ids = items.map(({ id }) => id);
      for (const { tie, statement } of children) {
        const rows = await database.query(statement, [ids], deadlineMs);
        const byId = new Map(rows.map(({ id, json }) => [Number(id), json]));
        for (const item of items) item[CHILDREN[tie]] = Buffer.from(byId.get(item.id) ?? "[]");
      }
    },
  };
}

function violationsOf(
  tie: Tie,
  draft: Member,
  before: Member | undefined,
  { parents, children }: Family[Tie],
): Violation[] {
  const parent = draft[PARENT[tie]];
  if (!parent || parent.id === before?.[PARENT[tie]]?.id) return [];
  if (parent.id === draft.id) return [notValid(PARENT[tie], "It cannot belong to itself.")];
  if (children.has(parent.id)) return [notValid(PARENT[tie], `This one is a ${tie} of another.`)];
  return parents.has(draft.id) ? [notValid(PARENT[tie], `It has a ${tie} of its own.`)] : [];
}

function parentless(ties: Tie[]): RawBuilder<unknown> {
  return sql.join(
    ties.map((tie) => sql`${sql.ref(`${tie}_parent_id`)} is null`),
    sql` and `,
  );
}

/**
 * `{weight, winnerCriteria}` of a variant: its share in percent, and the criterion of the winner. With `hasTestShare` also `totalWeight`: the percentage of
 * recipients that take part in the test before the rest gets the winner.
 */
export function checkVariantSettings(
  draft: { variantSettings?: Uint8Array | undefined },
  { hasTestShare = false } = {},
): Violation[] {
  const sent = jsonOf(draft.variantSettings);
  if (isNothing(sent)) {
    draft.variantSettings = kept({});
    return [];
  }
  if (!isObject(sent)) return [notValid("variantSettings")];
  const weight = Number(textOf(sent.weight ?? 0) ?? Number.NaN);
  if (!Number.isInteger(weight) || weight < 0 || weight > 100)
    return [notValid("variantSettings.weight", "The weight is a whole number of percent.")];
  const { winnerCriteria } = sent;
  if (winnerCriteria !== undefined && winnerCriteria !== null && !isWinnerCriterion(textOf(winnerCriteria)))
    return [notValid("variantSettings.winnerCriteria", notOneOf(WINNER_CRITERIA))];
  const totalWeight = hasTestShare ? (sent.totalWeight ?? null) : null;
  const share = totalWeight === null ? 100 : wholeNumberOf(totalWeight);
  if (share === undefined || share < 1 || share > 100)
    return [notValid("variantSettings.totalWeight", "It is a whole number of percent from 1 to 100.")];
  draft.variantSettings = kept({
    ...{ weight, winnerCriteria: winnerCriteria ?? null },
    ...(totalWeight !== null && { totalWeight: share }),
  });
  return [];
}
