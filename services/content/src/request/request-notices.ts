import type { MessageInitShape } from "@bufbuild/protobuf";
import { type Database, prepared, queryable } from "@tidings/database/database";
import type { AddressOutcomeSchema } from "@tidings/proto/tidings/content/v1/send";
import { isOpen } from "../family/is-open.ts";
import { type ChosenNotice, chooseNotices } from "../notice/choose-notices.ts";
import { noticeMailOf } from "../notice/notice-mail.ts";
import { findMailboxes } from "../notice/users.ts";
import type { AskContactable } from "../send/contactable.ts";
import { presentRevision } from "../send/email-revision.ts";
import { notWritten } from "../send/not-written.ts";
import { renderUnsent, type UnsentOptions } from "../send/render-unsent.ts";

export interface RequestNoticesOptions {
  database: Database;
  rendering: UnsentOptions;
  askContactable: AskContactable;
  /** Is there a way for mails to leave? */
  hasTransport: boolean;
  /** Called once mails are chosen. */
  wake(): void;
}

export interface AskedNotices {
  emailId: number;
  /** Each once. */
  contactIds: number[];
  occasion: string;
  userIds: number[];
  addresses: string[];
  isToOwner: boolean;
}

type AddressOutcome = MessageInitShape<typeof AddressOutcomeSchema>;

const openStatement = prepared(
  "emails_asked_open",
  `select from emails e where e.id = $1::integer and ${isOpen("e")}`,
);
const statesStatement = prepared(
  "notices_of_occasions",
  "select occasion, address, state from notices where occasion = any ($1::text[]) order by id",
);

/** Chooses users and addresses for an email with the values of contacts (engines.md 1.2, `email.send.to.user`). One answer for each contact. */
export async function requestNotices(
  { database, rendering, askContactable, hasTransport, wake }: RequestNoticesOptions,
  { emailId, contactIds, occasion, userIds, addresses, isToOwner }: AskedNotices,
  deadlineMs: number,
): Promise<AddressOutcome[]> {
  const queries = queryable(database, deadlineMs);
  const refuse = (reason: string) => contactIds.map((contactId) => ({ contactId, reason }));
  const [open] = await queries.query(openStatement, [emailId]);
  const revision = open && (await presentRevision(database, emailId));
  if (!revision) return refuse("unpublished");
  if (!hasTransport) return refuse("no_transport");
  const owners = isToOwner ? await ownersOf(rendering, contactIds) : new Map<number, number>();
  const users = await findMailboxes(queries, { ids: [...new Set([...userIds, ...owners.values()])] });
  const addressOf = new Map(users.map(({ userId, address }) => [userId, address]));
  const occasionOf = (contactId: number) => `${occasion}:contact:${contactId}`;
  const reasons = new Map<number, string>();
  const write = async (contactId: number): Promise<ChosenNotice[]> => {
    const ownerId = owners.get(contactId);
    const ids = ownerId === undefined ? userIds : [...userIds, ownerId];
    const to = eachOnce([...ids.flatMap((id) => addressOf.get(id) ?? []), ...addresses]);
    const shown = { contactId, tokens: {}, now: database.now() };
    const [rendered, { refusal }] = await Promise.all([
      renderUnsent(revision, shown, rendering).catch(notWritten),
      askContactable("email", contactId),
    ]);
    if (refusal === "not_found") reasons.set(contactId, refusal);
    else if ("reason" in rendered) reasons.set(contactId, "not_written");
    else if (to.length === 0) reasons.set(contactId, "no_address");
    else {
      const mail = noticeMailOf(rendered, revision);
      return [{ occasion: occasionOf(contactId), sourceId: emailId, mail, addresses: to, contactId }];
    }
    return [];
  };
  const notices = (await Promise.all(contactIds.map(write))).flat();
  await database.transaction(deadlineMs, async (transaction) => {
    transaction.afterCommit(wake);
    chooseNotices(transaction, notices, database.now());
  });
  const rows = await queries.query(statesStatement, [contactIds.map(occasionOf)]);
  const byOccasion = Map.groupBy(rows, (row) => row.occasion);
  return contactIds.map((contactId) => {
    const found = byOccasion.get(occasionOf(contactId)) ?? [];
    const states = Object.fromEntries(found.map(({ address, state }) => [address ?? "", state ?? ""]));
    return { contactId, states, reason: found.length > 0 ? "" : (reasons.get(contactId) ?? "") };
  });
}

/** The owners of contacts that have one. */
async function ownersOf({ contacts }: UnsentOptions, contactIds: number[]): Promise<Map<number, number>> {
  const owners = await Promise.all(
    contactIds.map(async (contactId) => {
      const fields = await contacts.fieldsOf(contactId, ["owner_id"]);
      return [contactId, Number(fields.get("owner_id"))] as const;
    }),
  );
  return new Map(owners.filter(([, ownerId]) => ownerId > 0));
}

function eachOnce(addresses: string[]): string[] {
  return [...new Map(addresses.map((address) => [address.toLowerCase(), address])).values()];
}
