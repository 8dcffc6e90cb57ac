import { prepared } from "@tidings/database/database";
import type { Queryable } from "@tidings/database/transaction";
import { Verb } from "@tidings/proto/tidings/api/v1/options";
import {
  type MarketingMessage,
  MarketingMessageSchema,
  type MessageChannel,
} from "@tidings/proto/tidings/content/v1/marketing_message";
import { notValid } from "@tidings/resource/json-member";
import { repository } from "@tidings/resource/repository";
import type { Repository, ResourceContext } from "@tidings/resource/repository-options";
import type { Call } from "@tidings/rpc/call";
import type { Violation } from "@tidings/rpc/fault";
import { reach } from "@tidings/rpc/permission";

interface Channel {
  table: string;
  permission: string;
}

const NOTIFICATIONS = { table: "notifications", permission: "notification:notifications" };

/** The kinds of entities that a message may send in a channel. */
const CHANNELS = new Map<string, Channel>([
  ["email", { table: "emails", permission: "email:emails" }],
  ["sms", { table: "smses", permission: "sms:smses" }],
  ["notification", NOTIFICATIONS],
  ["mobile_notification", NOTIFICATIONS],
  ["tweet", { table: "tweets", permission: "svcSocial:tweets" }],
]);

const namesStatement = prepared(
  "message_channels",
  [...new Set([...CHANNELS.values()].map(({ table }) => table))]
    .map(
      (table) => `select id, name, created_by, '${table}' as "table" from ${table}
       where id = any((select $1::jsonb ->> '${table}')::integer[])`,
    )
    .join(" union all "),
);

/** The items that messages can name, by `<table> <id>`. */
type Sayable = Map<string, { name: string; createdBy: number | undefined }>;

export function marketingMessages(context: ResourceContext): Repository<MarketingMessage> {
  return repository<MarketingMessage, Sayable>(context, MarketingMessageSchema, {
    load: (transaction, _call, messages) => find(transaction, channelsOf(messages)),
    prepare(draft, { before, call, loaded }) {
      draft.channels = oneOfEach(draft.channels);
      return draft.channels.flatMap((channel, index) =>
        checkChannel(channel, `channels[${index}]`, { before, call, loaded }),
      );
    },
    async show(items, { deadlineMs }, database) {
      const found = await find(
        { query: (statement, values = []) => database.query(statement, values, deadlineMs) },
        channelsOf(items),
      );
      for (const { channels } of items)
        for (const channel of channels) channel.channelName = found.get(keyOf(channel))?.name;
    },
  });
}

function channelsOf(messages: (MarketingMessage | undefined)[]): MessageChannel[] {
  return messages.flatMap((message) => message?.channels ?? []);
}

function keyOf({ channel, channelId }: MessageChannel): string {
  return `${CHANNELS.get(channel)?.table} ${channelId}`;
}

async function find({ query }: Pick<Queryable, "query">, channels: MessageChannel[]): Promise<Sayable> {
  const ids: Record<string, number[]> = {};
  for (const { channel, channelId } of channels) {
    const table = CHANNELS.get(channel)?.table;
    if (!table || !channelId) continue;
    ids[table] ??= [];
    ids[table].push(channelId);
  }
  if (Object.keys(ids).length === 0) return new Map();
  const literals = Object.fromEntries(
    Object.entries(ids).map(([table, some]) => [table, `{${some.join(",")}}`]),
  );
  const rows = await query(namesStatement, [JSON.stringify(literals)]);
  return new Map(
    rows.map(({ table, id, name, created_by }) => [
      `${table} ${id}`,
      { name: name ?? "", createdBy: created_by ? Number(created_by) : undefined },
    ]),
  );
}

/** A message has one entity in a channel: one that is sent for a channel it has replaces that. */
function oneOfEach(channels: MessageChannel[]): MessageChannel[] {
  const byName = new Map<string, MessageChannel>();
  for (const channel of channels) {
    const known = byName.get(channel.channel);
    byName.set(channel.channel, known ? { ...channel, id: known.id || channel.id } : channel);
  }
  return [...byName.values()];
}

interface Checking {
  before: MarketingMessage | undefined;
  call: Call;
  loaded: Sayable;
}

function checkChannel(
  channel: MessageChannel,
  path: string,
  { before, call, loaded }: Checking,
): Violation[] {
  const { channelId, isEnabled } = channel;
  if (!channelId)
    return isEnabled ? [notValid(`${path}.channelId`, "An enabled channel says something.")] : [];
  // An item that the message names already stays.
  if (before?.channels.some((known) => keyOf(known) === keyOf(channel))) return [];
  const said = loaded.get(keyOf(channel));
  const seen = reach(call.actor, CHANNELS.get(channel.channel)?.permission ?? "", Verb.VIEW);
  const isVisible = seen === "all" || (seen === "own" && said?.createdBy === call.actor.id);
  return said && isVisible ? [] : [notValid(`${path}.channelId`)];
}
