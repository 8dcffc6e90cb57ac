import { clone, create, type DescMessage } from "@bufbuild/protobuf";
import { joined, prepared } from "@tidings/database/database";
import type { Transaction } from "@tidings/database/transaction";
import { Verb } from "@tidings/proto/tidings/api/v1/options";
import { type Reference, ReferenceSchema } from "@tidings/proto/tidings/type/v1/reference";
import { stampModified } from "@tidings/resource/draft";
import { changeable } from "@tidings/resource/reach";
import type { RepositoryOptions, ResourceContext } from "@tidings/resource/repository-options";
import { repositoryParts } from "@tidings/resource/repository-parts";
import { placeOf, type Resource } from "@tidings/resource/resource";
import type { Locked, Outcome } from "@tidings/resource/row-change";
import { rowWriter } from "@tidings/resource/write-rows";
import type { Call } from "@tidings/rpc/call";
import { requireExpected } from "@tidings/rpc/expected";
import { badRequest, denied, Fault, notFound } from "@tidings/rpc/fault";

interface Tested extends Resource {
  id: number;
  variantParent?: Reference | undefined;
  variantSettings?: Uint8Array | undefined;
  translationParent?: Reference | undefined;
}

/** The most members of a test that are changed at once. */
const MEMBERS_MAX = 1_000;

/** Makes a variant the parent of its test, and answers it as it is then. */
export type MakeWinner<T> = (transaction: Transaction, id: number, call: Call) => Promise<T>;

interface WinnerOptions<T extends Resource> extends Pick<RepositoryOptions<T>, "changed" | "show"> {
  /** Called in the transaction in which a winner takes the place of its parent. */
  swapped?(transaction: Transaction, places: { winnerId: number; rootId: number }): void;
}

/**
 * Ends tests (engines.md 6.8): the winner and its parent change places, with the settings of these. All other variants, and the translations, are
 * the winner's from then on. `changed` begins the counting anew. One without a parent stays as it is. Throws PERMISSION_DENIED where the caller may
 * not edit each one of them.
 */
export function winnerMaker<T extends Tested>(
  context: ResourceContext,
  schema: DescMessage,
  { changed, show, swapped: noteSwap }: WinnerOptions<T>,
): MakeWinner<T> {
  const { table } = placeOf(schema);
  const parts = repositoryParts<T, undefined>(context, schema, { ...(show && { show }) });
  const { columns, statements, toLocked } = parts;
  const write = rowWriter<T>(schema, { ...parts, changed });
  const rootStatement = prepared(
    `${table}_test_root`,
    `select coalesce(variant_parent_id, id) as root_id from ${table} where id = $1`,
  );
  const lockStatement = prepared(`${table}_test_lock`, `select id from ${table} where id = $1 for update`);
  const memberStatement = prepared(
    `${table}_test_members`,
    `select id from ${table} where id = $1 or variant_parent_id = $1 or translation_parent_id = $1
     limit ${MEMBERS_MAX + 1}`,
  );

  const rootOf = async (transaction: Transaction, id: number): Promise<number> => {
    const [row] = await transaction.query(rootStatement, [id]);
    if (!row) throw notFound();
    return Number(row.root_id);
  };
  /** The parent of the test, which nobody else changes or refers to anew until the transaction ends. */
  const lockRoot = async (transaction: Transaction, id: number): Promise<number> => {
    for (let root = await rootOf(transaction, id); ; ) {
      await transaction.query(lockStatement, [root]);
      // Another winner may have been made before the lock was free.
      const now = await rootOf(transaction, id);
      if (now === root) return root;
      root = now;
    }
  };

  return async (transaction, id, call) => {
    const rootId = await lockRoot(transaction, id);
    const members = await transaction.query(memberStatement, [rootId]);
    if (members.length > MEMBERS_MAX)
      throw badRequest(`It has more than ${MEMBERS_MAX} variants and translations.`);
    const ids = members.map((row) => Number(row.id));
    const rows = (await transaction.query(statements.lock, [ids, call.actor.id])).map(toLocked);
    const winner = editable(rows, id, call);
    requireExpected(call, schema.typeName, { id, version: winner.version });
    const outcomes = rootId === id ? [] : swapped(rows, { winner, rootId }, schema);
    const isDenied = rows.some((row) => changeable(row, Verb.EDIT, call) instanceof Fault);
    if (outcomes.length > 0 && isDenied) throw denied();
    for (const { saved } of outcomes) stampModified(saved.message, columns, call);
    if (outcomes.length > 0) noteSwap?.(transaction, { winnerId: id, rootId });
    await write(transaction, outcomes satisfies Outcome<T>[]);
    const saved = outcomes.find((outcome) => outcome.saved.message.id === id)?.saved ?? winner;
    await parts.show([saved.message], call, joined(context.database, transaction));
    call.showsVersion?.(saved.version);
    return saved.message;
  };
}

function editable<T extends Tested>(rows: Locked<T>[], id: number, call: Call): Locked<T> {
  const row = changeable(
    rows.find(({ message }) => message.id === id),
    Verb.EDIT,
    call,
  );
  if (row instanceof Fault) throw row;
  return row;
}

/** Every member of the test as it is after the winner has taken the place of its parent. */
function swapped<T extends Tested>(
  rows: Locked<T>[],
  { winner, rootId }: { winner: Locked<T>; rootId: number },
  schema: DescMessage,
) {
  const parent = rows.find(({ message }) => message.id === rootId)?.message;
  const toWinner = create(ReferenceSchema, { id: winner.message.id });
  return rows.map((before) => {
    const message = clone(schema, before.message) as T;
    const { id } = message;
    if (id === winner.message.id)
      Object.assign(message, {
        variantParent: undefined,
        variantSettings: parent?.variantSettings,
        translationParent: parent?.translationParent,
      });
    else if (id === rootId)
      Object.assign(message, {
        variantParent: toWinner,
        variantSettings: winner.message.variantSettings,
        translationParent: undefined,
      });
    else if (message.variantParent?.id === rootId) message.variantParent = toWinner;
    else message.translationParent = toWinner;
    return { saved: { message, version: before.version + 1 }, before, isChanged: true };
  });
}
