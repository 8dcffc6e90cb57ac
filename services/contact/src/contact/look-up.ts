import { create } from "@bufbuild/protobuf";
import { prepared } from "@tidings/database/database";
import type { Row, Statement } from "@tidings/database/statement";
import { dateTimeText } from "@tidings/database/timestamp";
import type { Transaction } from "@tidings/database/transaction";
import { Verb } from "@tidings/proto/tidings/api/v1/options";
import { type Tag, TagSchema } from "@tidings/proto/tidings/contact/v1/tag";
import type { Call } from "@tidings/rpc/call";
import { folded } from "@tidings/runtime/folded";
import { mayReach } from "../record/reach.ts";
import { newCompany } from "../rows/company.ts";
import { STAGE_JSON } from "../rows/contact.ts";
import { ownersById } from "../rows/owner.ts";
import type { ContactChange } from "./body.ts";
import { type Lift, type SuppressionKey, type Suppressions, suppressionsOf } from "./suppression.ts";

/** Rows that the items of a batch refer to, looked up for all of them at once. */
export interface ContactLookups {
  tag(name: string): { id: number; description: string | null } | undefined;
  address(ip: string): { id: number } | undefined;
  nextEntryId(): number;
  /** JSON of the user, or undefined when there is none. */
  owner(id: number): string | undefined;
  stage(id: number): string | undefined;
  /** Undefined for what the caller does not see. */
  companyById(id: number): { id: number; name: string } | undefined;
  /**
   * The newest company of this name, or a new one that is to be written. Undefined where the caller may neither see the one
   * there is nor make another.
   */
  companyNamed(name: string): { id: number; name: string } | undefined;
  newCompanies(): Row[];
  newTags(): Tag[];
  suppressions: Suppressions;
  /** Filled by changes that are applied. */
  lifts: Lift[];
}

/** Reads all the changes refer to in one round trip. Tags and addresses that are not there yet are made. */
export async function lookUpForContacts(
  transaction: Transaction,
  changes: ContactChange[],
  call: Call,
  key: SuppressionKey,
): Promise<ContactLookups> {
  const names = companyNames(changes);
  const [tags, addresses, entryIds, owners, stages, companies, named, suppressions] = await Promise.all([
    tagsByText(
      transaction,
      changes.flatMap(({ addTags }) => addTags),
    ),
    namedRows(
      transaction,
      ADDRESS_STATEMENTS,
      changes.flatMap(({ ipAddress }) => ipAddress ?? []),
    ),
    sequence(
      transaction,
      changes.reduce((sum, { doNotContact }) => sum + doNotContact.length, 0),
    ),
    ownersById(
      transaction,
      changes.flatMap(({ owner }) => owner ?? []),
    ),
    byId(
      transaction,
      STAGES,
      changes.flatMap(({ stage }) => stage ?? []),
    ),
    visibleCompanies(
      transaction,
      changes.flatMap(({ companies: ids }) => ids ?? []),
      call,
    ),
    names.length > 0 ? transaction.query(COMPANIES_NAMED, [names]) : [],
    suppressionsOf(transaction, changes, key),
  ]);
  const companiesByName = namedCompanies(named, call);
  if (suppressions.ofContactMax > 0)
    entryIds.push(...(await sequence(transaction, changes.length * suppressions.ofContactMax)));
  const lifts: Lift[] = [];
  return {
    ...tags,
    address: (ip) => addresses.rows.get(ip),
    nextEntryId: () => entryIds.pop() ?? 0,
    owner: (id) => owners.get(id),
    stage: (id) => stages.get(id),
    companyById(id) {
      const name = companies.get(id);
      return name === undefined ? undefined : { id, name };
    },
    suppressions,
    lifts,
    ...companiesByName,
  };
}

function companyNames(changes: ContactChange[]): string[] {
  const names = changes.flatMap(({ values }) => values.get("company") ?? []);
  return [...new Set(names.map(folded))];
}

function namedCompanies(rows: Row[], call: Call) {
  const newIds = new Map(rows.map(({ name_key, new_id }) => [name_key, Number(new_id)]));
  const known = new Map(
    rows.flatMap((row) => {
      if (row.id === null) return [];
      const isVisible = mayReach(call, Verb.VIEW, row, "created_by");
      const company = isVisible ? { id: Number(row.id), name: row.companyname ?? "" } : undefined;
      return [[row.name_key ?? "", company] as const];
    }),
  );
  const mayCreate = call.reach(Verb.CREATE) !== "none";
  const made: Row[] = [];
  return {
    newCompanies: () => made,
    companyNamed(name: string) {
      const key = folded(name);
      if (known.has(key) || !mayCreate) return known.get(key);
      const id = newIds.get(key);
      if (!id) throw new Error("a company is named that was not looked up");
      made.push(newCompany(id, name, call.actor, dateTimeText(Date.now())));
      const added = { id, name };
      known.set(key, added);
      return added;
    },
  };
}

/** The newest of each name, or an id for a new one. */
const COMPANIES_NAMED = prepared(
  "companies_named",
  `select w.name_key, co.id, co.companyname, co.created_by,
     case when co.id is null then nextval('companies_id_seq') end as new_id
   from unnest((select $1::text[])) as w (name_key)
   left join lateral (
     select id, companyname, created_by from companies where name_key = w.name_key order by id desc limit 1
   ) co on true`,
);

const STAGES = prepared(
  "stages_by_id",
  `select s.id, ${STAGE_JSON} as value from stages s where s.id = any (array(select unnest($1::integer[])))`,
);
const COMPANIES = prepared(
  "companies_to_link",
  `select co.id, co.companyname, co.created_by from companies co
   where co.id = any (array(select unnest($1::integer[]))) order by co.id for share`,
);

async function visibleCompanies(transaction: Transaction, ids: number[], call: Call) {
  if (ids.length === 0) return new Map<number, string>();
  const rows = await transaction.query(COMPANIES, [[...new Set(ids)]]);
  const visible = rows.filter((row) => mayReach(call, Verb.VIEW, row, "created_by"));
  return new Map(visible.map((row) => [Number(row.id), row.companyname ?? ""]));
}

async function byId(transaction: Transaction, statement: Statement, ids: number[]) {
  if (ids.length === 0) return new Map<number, string>();
  const rows = await transaction.query(statement, [[...new Set(ids)]]);
  return new Map(rows.map((row) => [Number(row.id), row.value ?? ""]));
}

interface NamedStatements {
  insert: Statement;
  select: Statement;
}

const TAG_STATEMENTS: NamedStatements = {
  insert: prepared(
    "tags_add",
    `insert into tags (tag) select name from unnest((select $1::text[])) as n(name) order by name
     on conflict do nothing returning id, tag`,
  ),
  select: prepared(
    "tags_named",
    "select id, tag as name, description from tags where tag = any (array(select unnest($1::text[])))",
  ),
};

async function tagsByText(transaction: Transaction, texts: string[]) {
  const { rows, added } = await namedRows(transaction, TAG_STATEMENTS, texts);
  return {
    tag: (text: string) => rows.get(text),
    newTags: () => added.map(({ id, tag }) => create(TagSchema, { id: Number(id), tag: tag ?? "" })),
  };
}

const ADDRESS_STATEMENTS: NamedStatements = {
  insert: prepared(
    "ip_addresses_add",
    `insert into ip_addresses (ip_address) select name from unnest((select $1::text[])) as n(name) order by name
     on conflict do nothing returning id`,
  ),
  select: prepared(
    "ip_addresses_named",
    "select id, ip_address as name from ip_addresses where ip_address = any (array(select unnest($1::text[])))",
  ),
};

/** Rows by name; those that are missing are made. */
async function namedRows(transaction: Transaction, statements: NamedStatements, names: string[]) {
  const rows = new Map<string, { id: number; description: string | null }>();
  const read = async (wanted: string[]) => {
    for (const row of await transaction.query(statements.select, [wanted]))
      rows.set(row.name ?? "", { id: Number(row.id), description: row.description ?? null });
  };
  const distinct = [...new Set(names)];
  if (distinct.length === 0) return { rows, added: [] };
  await read(distinct);
  const missing = distinct.filter((name) => !rows.has(name));
  if (missing.length === 0) return { rows, added: [] };
  // Somebody else may make one of them meanwhile: that is read then.
  const [added] = await Promise.all([transaction.query(statements.insert, [missing]), read(missing)]);
  return { rows, added };
}

const ENTRY_IDS = prepared(
  "do_not_contact_ids",
  "select nextval('do_not_contact_id') as id from generate_series(1, (select $1::integer))",
);

async function sequence(transaction: Transaction, count: number): Promise<number[]> {
  if (count === 0) return [];
  const rows = await transaction.query(ENTRY_IDS, [count]);
  return rows.map(({ id }) => Number(id)).reverse();
}
