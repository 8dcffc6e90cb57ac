import { backgroundDeadline, type Database, prepared, queryable } from "@tidings/database/database";
import type { Row } from "@tidings/database/statement";
import { wireAddress } from "@tidings/mail/mail-address";
import { Code, toFault } from "@tidings/rpc/fault";
import { isOutage } from "@tidings/rpc/outage";
import { coalesce } from "@tidings/runtime/coalesce/coalesce";
import type { Log } from "@tidings/runtime/log";
import { type ChannelName, type Channels, sendingOf } from "../channels.ts";
import { isOpen } from "../family/is-open.ts";
import { type AskContactable, type Contactable, LIMITS } from "../send/contactable.ts";
import { notWritten } from "../send/not-written.ts";
import type { TextSending } from "../text/text-sending.ts";
import type { KnownContacts } from "../visit/known-contact.ts";
import type { ItemOfChannel, MessageSend } from "./message-queue.ts";

/** A channel that did not send a message, and why. */
export interface TriedChannel {
  channel: string;
  reason: string;
}

/** A channel that can send a message now. */
export type NextChannel =
  | { channel: "email"; itemId: number; address: string; locale: string }
  | { channel: ChannelName; itemId: number; content: string };

/** The next step of a message. */
export interface Step {
  tried: TriedChannel[];
  /** Absent where no channel can send it, and while that cannot be found out. */
  next?: NextChannel;
  left: ItemOfChannel[];
  /** Until it is tried again, where it could not be found out. */
  delaySeconds?: number;
}

export interface NextChannelOptions {
  database: Database;
  log: Log;
  contacts: KnownContacts;
  askContactable: AskContactable;
  /** Is there a way for mails to leave? */
  hasMailTransport: boolean;
  channels: Channels;
}

const UNANSWERED_SECONDS = 2;
const FAULT_SECONDS = 60;

const openEmailsStatement = prepared(
  "emails_open_of",
  `select e.id from emails e where e.id = any ($1::integer[]) and ${isOpen("e")}`,
);

type Written = { next: NextChannel } | { reason: string };

/** Finds the channel that sends a message next (engines.md 9.4). Messages that ask at the same time share the questions. */
export function nextChannel(options: NextChannelOptions): (message: MessageSend) => Promise<Step> {
  const { database, log, contacts, channels } = options;
  const openRows = coalesce(async (ids: number[]) => {
    const rows = await database.query(openEmailsStatement, [[...new Set(ids)]], backgroundDeadline());
    return new Set(rows.map(({ id }) => Number(id)));
  });
  const openItems = coalesce((asked: { sending: TextSending; itemId: number }[]) => {
    const ids = asked.map(({ itemId }) => itemId);
    const found = asked[0]?.sending.kind.openItems(queryable(database, backgroundDeadline()), ids);
    return found ?? Promise.resolve(new Map<number, Row>());
  });

  const write = async (contactId: number, { channel, itemId }: ItemOfChannel): Promise<Written> => {
    if (channel === "email") {
      if (!(await openRows(channel, itemId)).has(itemId)) return { reason: "unpublished" };
      const fields = await contacts.fieldsOf(contactId, ["email", "preferred_locale"]);
      const address = wireAddress(fields.get("email") ?? "");
      if (!address) return { reason: "no_address" };
      return { next: { channel, itemId, address, locale: fields.get("preferred_locale") ?? "" } };
    }
    const sending = sendingOf(channels, channel);
    if (!sending) return { reason: "no_transport" };
    const item = (await openItems(sending.kind.channel.name, { sending, itemId })).get(itemId);
    if (!item) return { reason: "unpublished" };
    const content = await sending.render(item, contactId).catch(notWritten);
    return typeof content === "string"
      ? { next: { channel: channel as ChannelName, itemId, content } }
      : content;
  };

  const step = async ({ contactId, channels }: MessageSend): Promise<Step> => {
    const asked = await Promise.all(
      channels.map(async (item) => ({ ...item, ...(await answerOf(options, contactId, item)) })),
    );
    const ordered = inOrder(asked);
    const tried: TriedChannel[] = [];
    for (const [index, item] of ordered.entries()) {
      const written = item.no === "" ? await write(contactId, item) : { reason: item.no };
      if ("next" in written) return { tried, next: written.next, left: ordered.slice(index + 1).map(itemOf) };
      tried.push({ channel: item.channel, reason: written.reason });
    }
    return { tried, left: [] };
  };

  return async (message) => {
    try {
      return await step(message);
    } catch (error) {
      const isAway = isOutage(error) || toFault(error).code === Code.DEADLINE_EXCEEDED;
      if (!isAway)
        log.error({ err: error, message: message.id }, "the next channel of a message was not found");
      const delaySeconds = isAway ? UNANSWERED_SECONDS : FAULT_SECONDS;
      return { tried: [], left: message.channels, delaySeconds };
    }
  };
}

interface Answer {
  /** Why the channel may not be used; empty where it may. */
  no: string;
  /** Absent of a channel that nobody was asked about. */
  contactable?: Contactable;
}

/** Asks whether the contact may get a message by this channel. */
async function answerOf(
  { channels, askContactable, hasMailTransport }: NextChannelOptions,
  contactId: number,
  { channel, itemId }: ItemOfChannel,
): Promise<Answer> {
  const sending = sendingOf(channels, channel);
  if (channel === "email" ? !hasMailTransport : !sending?.way) return { no: "no_transport" };
  const contactable = await (sending
    ? sending.ask(contactId, channel === "mobile_notification")
    : askContactable(channel, contactId, itemId));
  const { refusal } = contactable;
  return { no: LIMITS.has(refusal) ? "" : refusal, contactable };
}

/**
 * Channels with a rule of the contact come first: those that are paused last, the preferred one first, then those of which the contact wants more. The
 * others follow in the order of the message.
 */
export function inOrder<T extends { contactable?: Pick<Contactable, "refusal" | "rule"> }>(asked: T[]): T[] {
  const ranked = (item: T) => {
    const { refusal, rule } = item.contactable ?? {};
    return [
      ...[Number(!rule), Number(refusal === "paused" && rule !== undefined)],
      ...[Number(!rule?.isPreferred), -(rule?.perMonth ?? 0)],
    ];
  };
  return asked.toSorted((one, other) => {
    const [left, right] = [ranked(one), ranked(other)];
    return (
      left.map((value, index) => value - (right[index] ?? 0)).find((difference) => difference !== 0) ?? 0
    );
  });
}

function itemOf({ channel, itemId }: ItemOfChannel): ItemOfChannel {
  return { channel, itemId };
}
