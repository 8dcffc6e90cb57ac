import { compileSql } from "@tidings/database/compile-sql";
import { prepared } from "@tidings/database/database";
import type { Transaction } from "@tidings/database/transaction";
import type { Outbox } from "@tidings/messaging/outbox";
import { slices } from "@tidings/runtime/slices";
import { sql } from "kysely";
import type { FieldCatalogue } from "../../field/catalogue.ts";
import { type MembershipChange, membershipEvents } from "../../membership/events.ts";
import {
  type CompiledDefinition,
  compileDefinitions,
  type DefinitionMap,
  type DefinitionReader,
} from "../definition/definitions.ts";
import { MEMBERSHIP } from "../definition/predicate.ts";
import { lockMembers } from "./member-lock.ts";

/** A contact of which something changed that segments may read, by the names of ContactUpdated and of the tables. */
export interface ContactChange {
  contactId: number;
  changed: string[] | "all";
}

export interface SegmentServices {
  readDefinitions: DefinitionReader;
  outbox: Outbox;
}

/** Segments that one statement looks at: each is a column of its result. */
const SEGMENTS_MAX = 200;
/** The wire counts parameters in 16 bits. */
const PARAMETERS_MAX = 30_000;
const CONTACTS_MAX = 5_000;

/**
 * Lets changed contacts into the segments that want them now, and out of those that no longer do. Only segments that read
 * what changed are asked, all of them at once. To be the last step of a transaction; `catalogue` is fetched before it.
 */
export async function followChanges(
  { readDefinitions, outbox }: SegmentServices,
  transaction: Transaction,
  catalogue: FieldCatalogue,
  changes: ContactChange[],
): Promise<void> {
  if (changes.length === 0) return;
  lockMembers(transaction);
  const definitions = await readDefinitions(transaction.query);
  const segments = compileDefinitions(definitions, catalogue).filter(isFollowed);
  const moved = await follow(transaction, segments, changes);
  tellMoves(transaction, outbox, definitions, moved);
  await followMoves(transaction, outbox, { definitions, catalogue }, moved);
}

/** Segments that ask whether a contact is in any segment at all are asked about those who came and went. */
export async function followMoves(
  transaction: Transaction,
  outbox: Outbox,
  { definitions, catalogue }: { definitions: DefinitionMap; catalogue: FieldCatalogue },
  moved: MembershipChange[],
): Promise<void> {
  const segments = compileDefinitions(definitions, catalogue).filter(
    (segment) => isFollowed(segment) && segment.compiled?.reads.has(MEMBERSHIP),
  );
  if (segments.length === 0) return;
  for (const slice of slices(moved, CONTACTS_MAX)) {
    const changes = slice.map(({ contactId }) => ({ contactId, changed: [MEMBERSHIP] }));
    tellMoves(transaction, outbox, definitions, await follow(transaction, segments, changes));
  }
}

export function tellMoves(
  transaction: Transaction,
  outbox: Outbox,
  definitions: DefinitionMap,
  moved: MembershipChange[],
): void {
  outbox.append(
    transaction,
    membershipEvents(moved, (id) => definitions.get(id)),
  );
}

/** One whose members could not be found is left out until it changes. */
export function isFollowed({ isPublished, compiled, failure }: CompiledDefinition): boolean {
  return isPublished && compiled !== undefined && failure === undefined;
}

async function follow(
  transaction: Transaction,
  segments: CompiledDefinition[],
  changes: ContactChange[],
): Promise<MembershipChange[]> {
  const asked = segments.flatMap((segment) => {
    const contactIds = changes
      .filter((change) => isConcerned(segment, change))
      .map(({ contactId }) => contactId);
    return contactIds.length > 0 ? [{ segment, contactIds: new Set(contactIds) }] : [];
  });
  const moved: MembershipChange[] = [];
  for (const questions of inStatements(asked)) moved.push(...(await move(transaction, questions)));
  return moved;
}

/** As many questions at once as fit into one statement. */
function inStatements(questions: Question[]): Question[][] {
  const statements: Question[][] = [];
  let left = 0;
  for (const question of questions) {
    const size = parameterCount(question.segment);
    const last = statements.at(-1);
    if (last && last.length < SEGMENTS_MAX && size <= left) last.push(question);
    else {
      statements.push([question]);
      left = PARAMETERS_MAX;
    }
    left -= size;
  }
  return statements;
}

const parameterCounts = new WeakMap<CompiledDefinition, number>();

function parameterCount(segment: CompiledDefinition): number {
  let count = parameterCounts.get(segment);
  if (count === undefined) {
    count = segment.compiled ? compileSql(sql`${segment.compiled.predicate}`).values.length : 0;
    parameterCounts.set(segment, count);
  }
  return count;
}

function isConcerned({ compiled }: CompiledDefinition, { changed }: ContactChange): boolean {
  return changed === "all" || changed.some((name) => compiled?.reads.has(name));
}

interface Question {
  segment: CompiledDefinition;
  contactIds: ReadonlySet<number>;
}

/** One look at the contacts answers for all segments, one more statement makes the difference. */
async function move(transaction: Transaction, questions: Question[]): Promise<MembershipChange[]> {
  const contactIds = [...new Set(questions.flatMap((question) => [...question.contactIds]))];
  const verdicts = questions.map(({ segment }) => sql`(${segment.compiled?.predicate}) is true`);
  const { text, values } = compileSql(
    sql`select c.id, array_to_json(array[${sql.join(verdicts)}]) as verdicts from contacts c
      where c.id = any(${contactIds}::integer[])`,
  );
  const rows = await transaction.query({ text }, values);
  const pairs = rows.flatMap(({ id, verdicts: list }) => {
    const isMatched: boolean[] = JSON.parse(list ?? "[]");
    const contactId = Number(id);
    return questions.flatMap(({ segment, contactIds: own }, index) =>
      own.has(contactId) ? [{ segmentId: segment.id, contactId, isMatched: isMatched[index] }] : [],
    );
  });
  const changed = await transaction.query(moveStatement, [
    pairs.map(({ segmentId }) => segmentId),
    pairs.map(({ contactId }) => contactId),
    pairs.map(({ isMatched }) => isMatched),
  ]);
  return changed.map(toChange);
}

/**
 * Contacts that were added or removed by hand stay so; a removal by hand is forgotten once the filters agree. Those that move are held first, in the
 * order of their ids: a merge holds its contacts, too, before it moves or deletes memberships.
 */
const moveStatement = prepared(
  "segment_contacts_move",
  `with pair as (
     select * from unnest($1::integer[], $2::integer[], $3::boolean[]) as p (segment_id, contact_id, is_matched)),
   moving as materialized (
     select p.* from pair p join contacts c on c.id = p.contact_id
     left join segment_contacts m on m.segment_id = p.segment_id and m.contact_id = p.contact_id
     where case when p.is_matched then m.contact_id is null else m.contact_id is not null and not m.manually_added end
     order by p.contact_id, p.segment_id for key share of c),
   added as (
     insert into segment_contacts (segment_id, contact_id, date_added)
     select segment_id, contact_id, now() from moving where is_matched
     on conflict do nothing returning segment_id, contact_id),
   removed as (
     delete from segment_contacts m using moving p
     where m.segment_id = p.segment_id and m.contact_id = p.contact_id and not p.is_matched and not m.manually_added
     returning m.segment_id, m.contact_id, m.manually_removed)
   select segment_id, contact_id, true as is_added from added
   union all select segment_id, contact_id, false from removed where not manually_removed`,
);

export function toChange({
  segment_id,
  contact_id,
  is_added,
}: Record<string, string | null>): MembershipChange {
  return { segmentId: Number(segment_id), contactId: Number(contact_id), isAdded: is_added === "t" };
}
