import { backgroundDeadline, type Database, prepared } from "@tidings/database/database";
import type { MatchedContact } from "@tidings/filters/matches";
import { kindOf } from "@tidings/filters/operators";
import { ContactCommandService } from "@tidings/proto/tidings/contact/v1/command";
import { serviceActor } from "@tidings/rpc/actor";
import { isOutage } from "@tidings/rpc/outage";
import { coalesce } from "@tidings/runtime/coalesce/coalesce";
import type { Upstreams } from "@tidings/service/upstreams";

/** Values of contacts, for what is shown to them. */
export interface KnownContacts {
  /** Values of fields by alias; none of a contact that is gone. */
  fieldsOf(contactId: number, aliases: string[]): Promise<ReadonlyMap<string, string>>;
  /** The contact as filters over these fields ask about it; undefined where it is not known. */
  matched(contactId: number, aliases: string[]): Promise<MatchedContact | undefined>;
}

interface KnownContactOptions {
  /** How long a look-up may take. */
  waitMs: number;
  /** While the contact service is away, a contact has no values; else the look-up throws. */
  isOptional: boolean;
}

/** A page does not wait longer for what it can be shown without. */
const FOR_PAGES: KnownContactOptions = { waitMs: 1_000, isOptional: true };
const READ_MAX = 200;
const SETS = ["tag_ids", "segment_ids", "do_not_contact"];
const actor = serviceActor("Visitors");
const typesStatement = prepared(
  "contact_fields_types",
  "select alias, type from contact_fields where alias = any((select $1::text[])::text[])",
);
/** Columns that filters know beside the fields. */
const COLUMN_KINDS = new Map<string, string>([
  ["id", "number"],
  ["owner_id", "number"],
  ["stage_id", "number"],
  ["date_added", "datetime"],
  ["date_identified", "datetime"],
]);

export function knownContacts(
  database: Database,
  upstreams: Upstreams,
  { waitMs, isOptional }: KnownContactOptions = FOR_PAGES,
): KnownContacts {
  const contacts = upstreams.client("contact", ContactCommandService);
  /** Visitors whose hits were committed together see the page in the same turn: they share a call, and none waits for another. */
  const readMany = coalesce(
    async (asked: { contactId: number; aliases: string[] }[]) => {
      const outgoing = { actor, deadlineMs: Date.now() + waitMs, requestId: "" };
      const ids = [...new Set(asked.map(({ contactId }) => contactId))];
      const aliases = asked[0]?.aliases ?? [];
      const { contacts: found } = await contacts.readContactFields({ ids, aliases }, outgoing);
      return new Map(found.map(({ id, values }) => [id, values]));
    },
    { atOnce: Number.POSITIVE_INFINITY, itemsMax: READ_MAX },
  );
  const read = async (contactId: number, aliases: string[]): Promise<string[] | undefined> => {
    try {
      return (await readMany(JSON.stringify(aliases), { contactId, aliases })).get(contactId);
    } catch (error) {
      // A page is whole without the values of its visitor.
      if (isOptional && isOutage(error)) return undefined;
      throw error;
    }
  };
  return {
    async fieldsOf(contactId, aliases) {
      if (aliases.length === 0) return new Map();
      const values = await read(contactId, aliases);
      return new Map(aliases.map((alias, index) => [alias, values?.[index] ?? ""]));
    },
    async matched(contactId, aliases) {
      const values = await read(contactId, [...aliases, ...SETS]);
      if (!values) return undefined;
      const rows = await database.query(typesStatement, [aliases], backgroundDeadline());
      const types = new Map(rows.map(({ alias, type }) => [alias ?? "", type ?? "text"]));
      const texts = new Map(aliases.map((alias, index) => [alias, values[index] ?? ""]));
      const [tagIds, segmentIds, doNotContact] = values
        .slice(aliases.length)
        .map((json) => (json ? JSON.parse(json) : null));
      const reasons = Object.entries(doNotContact ?? {}) as [string, { reason: number }][];
      return {
        value(name) {
          const type = types.get(name) ?? COLUMN_KINDS.get(name);
          // The text form has no difference between none and an empty one.
          return type === undefined ? undefined : { text: texts.get(name) || null, kind: kindOf(type) };
        },
        tagIds: new Set<number>(tagIds ?? []),
        segmentIds: new Set<number>(segmentIds ?? []),
        doNotContact: new Map(reasons.map(([channel, { reason }]) => [channel, reason])),
      };
    },
  };
}
