import { prepared } from "@tidings/database/database";
import { dateTimeText } from "@tidings/database/timestamp";
import type { UtmTagService } from "@tidings/proto/tidings/contact/v1/utm_tags";
import { parseJson } from "@tidings/resource/json-member";
import type { Call } from "@tidings/rpc/call";
import type { Handlers } from "@tidings/rpc/definition";
import { badRequest, invalid } from "@tidings/rpc/fault";
import { DATE_FORMS, parseDateText } from "@tidings/runtime/date-text";
import { textOf as readText } from "@tidings/runtime/plain-text";
import { writeContact } from "../contact/contact-json.ts";
import { editContact } from "../contact/edit.ts";
import type { ContactContext } from "../contact/save.ts";
import type { ContactRow } from "../rows/contact.ts";
import { noteDevices } from "./user-agent.ts";

/** Columns and the names clients send them by. */
const NAMES: Record<string, string[]> = {
  utm_campaign: ["utm_campaign"],
  utm_content: ["utm_content"],
  utm_medium: ["utm_medium"],
  utm_source: ["utm_source"],
  utm_term: ["utm_term"],
  url: ["url"],
  referer: ["referer"],
  remote_host: ["remotehost", "remote_host"],
  user_agent: ["useragent", "user_agent"],
};
const COLUMNS = Object.keys(NAMES);
const TEXT_LENGTH_MAX = 2_000;
const QUERY_LENGTH_MAX = 10_000;
/** Beyond it the oldest are dropped: they are read with the contact. */
export const UTM_KEPT_MAX = 100;

const insertStatement = prepared(
  "utm_tags_insert",
  `insert into utm_tags (contact_id, date_added, query, ${COLUMNS.join(", ")})
   values ($1, $2, $3, ${COLUMNS.map((_name, index) => `$${index + 4}`).join(", ")}) returning id`,
);
const trimStatement = prepared(
  "utm_tags_trim",
  `delete from utm_tags where contact_id = $1 and id not in
    (select id from utm_tags where contact_id = $1 order by id desc limit ${UTM_KEPT_MAX})`,
);
const deleteStatement = prepared("utm_tags_delete", "delete from utm_tags where contact_id = $1 and id = $2");

export function utmTagHandlers(context: ContactContext): Handlers<typeof UtmTagService> {
  return {
    addUtmTags: async (request, call) =>
      writeContact(context, await addUtmTags(context, request, call), call),
    removeUtmTags: async (request, call) => ({
      found: true,
      contact: await writeContact(context, await removeUtmTags(context, request, call), call),
    }),
  };
}

/** Records how a contact came. Unknown members are ignored; `lastActive` says when. */
function addUtmTags(
  context: ContactContext,
  request: { id: number; tags: Uint8Array },
  call: Call,
): Promise<ContactRow> {
  const sent: Record<string, unknown> = request.tags.length > 0 ? parseJson(request.tags) : {};
  const values = COLUMNS.map((column) => textOf(NAMES[column]?.map((name) => sent[name]).find(isText)));
  const agent = values[COLUMNS.indexOf("user_agent")];
  const query = queryOf(sent.query);
  const activeMs = isText(sent.lastActive) ? parseDateText(readText(sent.lastActive) ?? "") : undefined;
  if (isText(sent.lastActive) && activeMs === undefined)
    throw invalid([{ field: "lastActive", message: `This value is ${DATE_FORMS}.` }]);
  return editContact(context, request.id, call, async (row, { transaction, now }) => {
    const added = await transaction.query(insertStatement, [
      Number(row.id),
      now,
      JSON.stringify(query),
      ...values,
    ]);
    transaction.execute(trimStatement, [Number(row.id)]);
    if (agent)
      await noteDevices(context, transaction, [{ contactId: Number(row.id), userAgent: agent }], call);
    const entry = entryOf(Number(added[0]?.id), values, query);
    const tags = [...utmTagsOf(row), entry].slice(-UTM_KEPT_MAX);
    const seen = activeMs === undefined ? {} : { last_active: dateTimeText(activeMs) };
    return { ...row, ...seen, has_utm_tags: "t", utm_tags: JSON.stringify(tags) };
  });
}

/** Throws INVALID_ARGUMENT when the contact has no UTM tags of this id. */
function removeUtmTags(
  context: ContactContext,
  { id, utmTagsId }: { id: number; utmTagsId: number },
  call: Call,
): Promise<ContactRow> {
  return editContact(context, id, call, (row, { transaction }) => {
    const kept = utmTagsOf(row).filter((entry) => entry.id !== utmTagsId);
    if (kept.length === utmTagsOf(row).length) throw badRequest("The UTM tags were not found.");
    transaction.execute(deleteStatement, [Number(row.id), utmTagsId]);
    const rest = kept.length > 0 ? JSON.stringify(kept) : null;
    return { ...row, has_utm_tags: kept.length > 0 ? "t" : "f", utm_tags: rest };
  });
}

function utmTagsOf(row: ContactRow): { id: number }[] {
  return row.utm_tags ? JSON.parse(row.utm_tags) : [];
}

/** As the database writes it when the contact is read. */
function entryOf(id: number, values: (string | null)[], query: unknown) {
  const value = (column: string) => values[COLUMNS.indexOf(column)] ?? null;
  return {
    id,
    query,
    referer: value("referer"),
    remoteHost: value("remote_host"),
    url: value("url"),
    userAgent: value("user_agent"),
    utmCampaign: value("utm_campaign"),
    utmContent: value("utm_content"),
    utmMedium: value("utm_medium"),
    utmSource: value("utm_source"),
    utmTerm: value("utm_term"),
  };
}

function isText(value: unknown): boolean {
  return (typeof value === "string" && value !== "") || typeof value === "number";
}

function textOf(value: unknown): string | null {
  return readText(value)?.slice(0, TEXT_LENGTH_MAX) ?? null;
}

/** An object, or the text of a URL's query. */
function queryOf(sent: unknown): object {
  const query =
    typeof sent === "string"
      ? Object.fromEntries(new URLSearchParams(sent.replace(/^\?/, "")))
      : (sent ?? {});
  if (typeof query !== "object" || Array.isArray(query)) return {};
  if (JSON.stringify(query).length > QUERY_LENGTH_MAX) throw badRequest("The query is too long.");
  return query;
}
