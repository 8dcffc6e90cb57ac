import { backgroundDeadline, type Database, prepared } from "@tidings/database/database";
import type { Mailbox } from "@tidings/mail/compose-mail";
import { type DkimKey, isSigned } from "@tidings/mail/dkim";
import { domainOf, wireAddress } from "@tidings/mail/mail-address";
import { coalesce } from "@tidings/runtime/coalesce/coalesce";
import { type Html, html } from "@tidings/runtime/html";
import { LRUCache } from "lru-cache";
import { withoutScripts } from "../slot/without-scripts.ts";
import type { EmailRevision } from "./email-revision.ts";

/** The user whom a contact belongs to, as mails to the contact say it. */
export interface Owner {
  firstname: string;
  lastname: string;
  email: string;
  position: string;
  /** HTML; empty for a user without one. */
  signature: string;
  /** A user who may sign in no more sends no mails. */
  isPublished: boolean;
}

/** The sender of a mail, and the words that end it. */
interface Sender {
  /** Empty where the usual sender is meant. */
  fromAddress: string;
  fromName: string;
  /** Absent where replies go to the sender. */
  replyTo?: Mailbox;
  signature: Html;
}

/** Owners of contacts, and the senders of mails to these contacts. */
export interface Owners {
  /** The usual sender; undefined where no mails leave. */
  usual: Mailbox | undefined;
  find(ownerId: number): Promise<Owner | undefined>;
  /** Says whether mails of this revision are from the owners of their contacts. */
  mayMail(revision: Pick<EmailRevision, "useOwnerAsMailer">): boolean;
  /** The sender of a mail whose email names `written` (engines.md 6.11). */
  senderOf(
    revision: Pick<EmailRevision, "useOwnerAsMailer" | "replyToAddress">,
    owner: Owner | undefined,
    written: Mailbox,
  ): Sender;
}

interface OwnerSettings {
  /** The usual sender; undefined where no mails leave. */
  from: Mailbox | undefined;
  dkimKeys: DkimKey[];
  isOwnerMailer: boolean;
  /** The HTML of `{signature}`. */
  signature: string;
}

const findStatement = prepared(
  "users_own",
  `select id, first_name, last_name, email, position, signature, is_published from users where id = any ($1::integer[])`,
);
const KNOWN_MAX = 1_000;
/** A change of a user is seen this long after its event. */
const KNOWN_MS = 10_000;
const FROM_NAME = /\|FROM_NAME\|/g;

/** Reads owners of the replica of users: mails that are written at the same time share a query, and an owner is known for 10 s. */
export function mailOwners(database: Database, settings: OwnerSettings): Owners {
  const known = new LRUCache<number, Promise<Owner | undefined>>({ max: KNOWN_MAX, ttl: KNOWN_MS });
  const readMany = coalesce((ids: number[]) => readOwners(database, ids));
  return {
    ...ownerSenders(settings),
    async find(ownerId) {
      if (!(ownerId > 0)) return undefined;
      const before = known.get(ownerId);
      if (before) return before;
      const found = readMany("owners", ownerId).then((owners) => owners.get(ownerId));
      known.set(ownerId, found);
      found.catch(() => known.delete(ownerId));
      return found;
    },
  };
}

async function readOwners(database: Database, ids: number[]): Promise<Map<number, Owner>> {
  const rows = await database.query(findStatement, [[...new Set(ids)]], backgroundDeadline());
  return new Map(
    rows.map((row) => [
      Number(row.id),
      {
        firstname: row.first_name ?? "",
        lastname: row.last_name ?? "",
        email: row.email ?? "",
        position: row.position ?? "",
        signature: withoutScripts(withBreaks(row.signature ?? "")),
        isPublished: row.is_published === "t",
      },
    ]),
  );
}

/** The lines of a text without tags stay lines in HTML. */
function withBreaks(text: string): string {
  return /<[a-z]/i.test(text) ? text : text.trim().replace(/\r?\n/g, "<br>");
}

/**
 * Senders of mails. An owner whose mails no key would sign is not named as the sender, unless the address has the domain of the usual one: DMARC would
 * refuse such mails. Without keys somebody else signs. Replies go to the owner all the same.
 */
export function ownerSenders({
  from,
  dkimKeys,
  isOwnerMailer,
  signature,
}: OwnerSettings): Omit<Owners, "find"> {
  const mayMail: Owners["mayMail"] = ({ useOwnerAsMailer }) => isOwnerMailer && useOwnerAsMailer === true;
  const usualDomain = domainOf(wireAddress(from?.address ?? "") ?? "");
  const isAligned = (address: string) =>
    dkimKeys.length === 0 || isSigned(address, dkimKeys) || domainOf(address) === usualDomain;
  return {
    usual: from,
    mayMail,
    senderOf(revision, owner, written) {
      const mailer = owner?.isPublished && mayMail(revision) ? owner : undefined;
      const address = mailer && wireAddress(mailer.email);
      const own = { address: mailer?.email ?? "", name: mailer ? nameOf(mailer) : "" };
      const sender = address !== undefined && isAligned(address) ? own : written;
      const replyTo = revision.replyToAddress
        ? { address: revision.replyToAddress, name: "" }
        : address !== undefined && own;
      const name = sender.name || (from?.name ?? "");
      const { markup } = html`${name}`;
      return {
        fromAddress: sender.address,
        fromName: sender.name,
        ...(replyTo && { replyTo }),
        signature: { markup: (mailer?.signature || signature).replace(FROM_NAME, () => markup) },
      };
    },
  };
}

function nameOf({ firstname, lastname }: Owner): string {
  return `${firstname} ${lastname}`.trim();
}

/** The value of `{ownerfield=<name>}`; empty without an owner. */
export function ownerField(owner: Owner | undefined, name: string): string | Html {
  switch (name) {
    case "firstname":
    case "lastname":
    case "email":
    case "position":
      return owner?.[name] ?? "";
    case "signature":
      return { markup: owner ? owner.signature.replace(FROM_NAME, () => html`${nameOf(owner)}`.markup) : "" };
    default:
      return "";
  }
}
