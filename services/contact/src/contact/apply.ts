import type { Actor } from "@tidings/rpc/actor";
import type { ContactChange } from "./body.ts";
import { applyDoNotContact } from "./do-not-contact.ts";
import type { FieldCatalogue } from "./field.ts";
import { isoTime } from "./field-value.ts";
import {
  CONTACT_COLUMNS,
  type ContactRow,
  doNotContactOf,
  frequencyRulesOf,
  ipAddressesOf,
  isAnonymous,
  tagsOf,
} from "./row.ts";

interface Application {
  row: ContactRow;
  isNew: boolean;
  change: ContactChange;
  /** In the text form of a timestamptz. */
  now: string;
  actor: Actor;
  batch: {
    tag(name: string): { id: number; description: string | null } | undefined;
    address(ip: string): { id: number } | undefined;
    nextEntryId(): number;
  };
}

/** The contact after a change; the very same row when the change changes nothing. */
export function applyChange(application: Application, catalogue: FieldCatalogue): ContactRow {
  const { row: before, isNew, change, now, actor } = application;
  const row = { ...before };
  if (isNew)
    for (const field of catalogue.fields)
      if (field.defaultValue !== null) row[field.alias] = field.defaultValue;
  for (const [alias, value] of change.values) row[alias] = value;
  row.points ??= "0";
  applyAttribution(row, change, now);
  applyTags(row, application);
  applyIpAddress(row, application);
  applyChannels(row, application);
  identify(row, catalogue, now);
  if (isNew) {
    return { ...row, date_added: now, created_by: textOf(actor.id), created_by_user: actor.name };
  }
  const changed = changedColumns(before, row);
  if (changed.length === 0) return before;
  row.version = String(Number(before.version) + 1);
  // Being seen is not being edited.
  if (changed.every((name) => name === "last_active")) return row;
  return { ...row, date_modified: now, modified_by: textOf(actor.id), modified_by_user: actor.name };
}

/** Names of the columns in which two states of a contact differ. */
export function changedColumns(before: ContactRow, after: ContactRow): string[] {
  return CONTACT_COLUMNS.flatMap(({ name }) => (before[name] === after[name] ? [] : [name]));
}

/** An attribution without a date is dated today; without an attribution there is no date. */
function applyAttribution(row: ContactRow, change: ContactChange, now: string): void {
  if (!change.values.has("attribution")) return;
  const isSet = row.attribution !== null && Number(row.attribution) !== 0;
  if (!isSet) row.attribution_date = null;
  else row.attribution_date ??= `${now.slice(0, 10)} 00:00:00+00`;
}

function applyTags(row: ContactRow, { change, batch }: Application): void {
  if (change.addTags.length === 0 && change.removeTags.length === 0) return;
  const kept = tagsOf(row).filter(({ tag }) => !change.removeTags.includes(tag));
  const added = change.addTags.flatMap((tag) => {
    const known = batch.tag(tag);
    return known && !kept.some(({ id }) => id === known.id) ? [{ ...known, tag }] : [];
  });
  const tags = [...kept, ...added].sort((a, b) => (a.tag < b.tag ? -1 : 1));
  row.tags =
    tags.length > 0
      ? JSON.stringify(tags.map(({ id, tag, description }) => ({ id, tag, description })))
      : null;
  row.tag_ids = arrayText(tags.map(({ id }) => id));
}

function applyIpAddress(row: ContactRow, { change, batch }: Application): void {
  const { ipAddress: ip } = change;
  const known = ip === undefined ? undefined : batch.address(ip);
  const addresses = ipAddressesOf(row);
  if (ip === undefined || !known || addresses.some(({ id }) => id === known.id)) return;
  const linked = [...addresses, { id: known.id, ip }];
  row.ip_addresses = JSON.stringify(linked);
  row.ip_address_ids = arrayText(linked.map(({ id }) => id));
}

function applyChannels(row: ContactRow, { change, batch, now }: Application): void {
  const dateAdded = isoTime(now);
  if (change.doNotContact.length > 0) {
    const entries = doNotContactOf(row);
    let isChanged = false;
    for (const entry of change.doNotContact) {
      const before = Object.hasOwn(entries, entry.channel) ? entries[entry.channel] : undefined;
      const after = applyDoNotContact(before, entry, dateAdded, batch.nextEntryId);
      isChanged ||= after !== before;
      if (after) entries[entry.channel] = after;
      else delete entries[entry.channel];
    }
    if (isChanged) row.do_not_contact = JSON.stringify(entries);
  }
  if (Object.keys(change.frequencyRules).length > 0) {
    const rules = frequencyRulesOf(row);
    const merged = { ...rules, ...change.frequencyRules };
    if (JSON.stringify(merged) !== JSON.stringify(rules)) row.frequency_rules = JSON.stringify(merged);
  }
}

function identify(row: ContactRow, catalogue: FieldCatalogue, now: string): void {
  if (row.date_identified) return;
  if (!isAnonymous(row, catalogue.social)) row.date_identified = now;
}

/** The text form of an integer[]. */
function arrayText(ids: number[]): string {
  return `{${ids.toSorted((a, b) => a - b).join(",")}}`;
}

function textOf(id: number | null): string | null {
  return id === null ? null : String(id);
}
