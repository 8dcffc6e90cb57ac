import { prepared } from "@tidings/database/database";
import { dateTimeText } from "@tidings/database/timestamp";
import { domainEvent } from "@tidings/messaging/outbox";
import { Verb } from "@tidings/proto/tidings/api/v1/options";
import { ContactSchema } from "@tidings/proto/tidings/contact/v1/contact";
import { ContactMergedSchema } from "@tidings/proto/tidings/contact/v1/events";
import type { Call } from "@tidings/rpc/call";
import { requireExpected } from "@tidings/rpc/expected";
import { badRequest } from "@tidings/rpc/fault";
import { assertCurrent, type FieldCatalogue, type FieldSet, underCatalogue } from "../field/catalogue.ts";
import { setFieldValues, withCustomValues } from "../field/values.ts";
import { inheritMemberships } from "../membership/by-hand.ts";
import { reachedRow } from "../record/reach.ts";
import { writeChanges } from "../record/write.ts";
import {
  type ContactRow,
  companiesOf,
  contactTable,
  type DoNotContactEntry,
  doNotContactOf,
  frequencyRulesOf,
  type GroupScore,
  groupScoresOf,
  ipAddressesOf,
  tagsOf,
} from "../rows/contact.ts";
import { arrayText, identify, stampEdited } from "./apply.ts";
import { setCompanies, writeCompanyLinks } from "./company-link.ts";
import { contactDeleted, contactSaved } from "./events.ts";
import { moveHistory } from "./history.ts";
import { noteIdentifications } from "./identifications.ts";
import type { ContactContext } from "./save.ts";

const redirectStatement = prepared(
  "contact_redirects_insert",
  "insert into contact_redirects (merged_id, contact_id, date_added) values ($2, $1, now())",
);
const deleteStatement = prepared("contacts_delete_merged", "delete from contacts where id = $1");

/** Two contacts that turned out to be one. */
interface Merging {
  /** The one that stays. */
  id: number;
  mergedId: number;
  /** By what they are one, as identifications name it, and the browser that it came from; `merge` when absent: somebody says so. */
  proof?: string;
  deviceId?: string;
}

/**
 * Makes one contact of two. Values of the one that was changed last win where they are not blank; points are added up;
 * what belongs to either belongs to the survivor. Takes the right to edit that one and to delete the other. Throws NOT_FOUND when either is missing, so that of two merges of the
 * same contact one has effect.
 */
export async function mergeContacts(
  context: ContactContext,
  merging: Merging,
  call: Call,
): Promise<ContactRow> {
  if (merging.id === merging.mergedId) throw badRequest("A contact cannot be merged with itself.");
  return underCatalogue(context.catalogues, (catalogue) => merge(context, catalogue, merging, call));
}

function merge(
  context: ContactContext,
  catalogue: FieldCatalogue,
  { id, mergedId, proof = "merge", deviceId = "" }: Merging,
  call: Call,
): Promise<ContactRow> {
  const set = catalogue.contact;
  return context.database.transaction(call.deadlineMs, async (transaction) => {
    const stored = await contactTable.lock(transaction, [id, mergedId], []);
    assertCurrent(catalogue, stored);
    const rows = stored.map((row) => withCustomValues(row, set));
    const survivor = reached(rows, id, Verb.EDIT, call);
    // It is no more afterwards.
    const merged = reached(rows, mergedId, Verb.DELETE, call);
    requireExpected(call, ContactSchema.typeName, { id, version: Number(survivor.version) });
    const now = dateTimeText(Date.now());
    const changed = stampEdited(survivor, mergedRow(survivor, merged, set, now), call.actor, now);
    moveHistory(transaction, id, mergedId);
    noteIdentifications(transaction, [
      { contactId: id, at: Date.now(), proof, deviceId, mergedFrom: mergedId },
    ]);
    const memberships = await inheritMemberships(transaction, id, mergedId);
    transaction.execute(deleteStatement, [mergedId]);
    transaction.execute(redirectStatement, [id, mergedId]);
    // There may have been nothing to gain.
    const changes = changed === "unchanged" ? [] : [{ before: survivor, row: changed }];
    writeChanges(transaction, contactTable, set, changes);
    writeCompanyLinks(transaction, changes);
    context.outbox.append(transaction, [
      ...changes.map((change) => contactSaved(change, set)),
      ...memberships,
      contactMerged(mergedId, Number(merged.version) + 1, id),
      contactDeleted({ ...merged, version: String(Number(merged.version) + 1) }, id),
    ]);
    return changed === "unchanged" ? survivor : changed;
  });
}

function reached(rows: ContactRow[], id: number, verb: Verb, call: Call): ContactRow {
  const row = rows.find((candidate) => candidate.id === String(id));
  return reachedRow(call, verb, row, "owner_id");
}

/** Published before the deletion: other services move their rows of the contact. */
export function contactMerged(id: number, version: number, mergedIntoId: number) {
  return domainEvent("tidings.contact.contact.merged", { id, version }, ContactMergedSchema, {
    mergedIntoId,
  });
}

function mergedRow(survivor: ContactRow, merged: ContactRow, set: FieldSet, now: string): ContactRow {
  const [newer, older] = age(merged) > age(survivor) ? [merged, survivor] : [survivor, merged];
  const row = { ...survivor };
  const values = new Map(
    [...set.fields, ...set.custom].map(({ alias }) => [alias, newer[alias] || older[alias] || null] as const),
  );
  setFieldValues(row, values, set, false);
  row.points = String(Number(survivor.points) + Number(merged.points));
  row.last_active = later(survivor.last_active, merged.last_active);
  row.date_identified = earlier(survivor.date_identified, merged.date_identified);
  if (!survivor.owner_id) Object.assign(row, { owner_id: merged.owner_id, owner: merged.owner });
  if (!survivor.stage_id) Object.assign(row, { stage_id: merged.stage_id, stage: merged.stage });
  mergeSets(row, survivor, merged, newer);
  identify(row, set, now);
  return row;
}

function mergeSets(row: ContactRow, survivor: ContactRow, merged: ContactRow, newer: ContactRow): void {
  const tags = union(tagsOf(survivor), tagsOf(merged)).sort((a, b) => (a.tag < b.tag ? -1 : 1));
  row.tags = jsonOrNull(tags);
  row.tag_ids = arrayText(tags.map(({ id }) => id));
  const addresses = union(ipAddressesOf(survivor), ipAddressesOf(merged));
  row.ip_addresses = jsonOrNull(addresses);
  row.ip_address_ids = arrayText(addresses.map(({ id }) => id));
  const utmTags = [...JSON.parse(survivor.utm_tags ?? "[]"), ...JSON.parse(merged.utm_tags ?? "[]")];
  row.utm_tags = jsonOrNull(utmTags);
  row.has_utm_tags = utmTags.length > 0 ? "t" : "f";
  row.do_not_contact = JSON.stringify(strictest(doNotContactOf(survivor), doNotContactOf(merged)));
  row.group_scores = jsonOrNull(addedScores(groupScoresOf(survivor), groupScoresOf(merged)));
  row.frequency_rules = JSON.stringify({ ...frequencyRulesOf(merged), ...frequencyRulesOf(survivor) });
  const primary = [...companiesOf(newer), ...companiesOf(survivor), ...companiesOf(merged)].find(
    ({ isPrimary }) => isPrimary,
  );
  const companies = union(companiesOf(survivor), companiesOf(merged));
  setCompanies(
    row,
    companies.map((company) => ({ ...company, isPrimary: company.id === primary?.id })),
  );
}

/** Scores of the same group are added up, as `moveHistory` does it. */
function addedScores(one: GroupScore[], other: GroupScore[]): GroupScore[] {
  const scores = new Map(one.map(({ groupId, score }) => [groupId, score]));
  for (const { groupId, score } of other)
    scores.set(groupId, Math.max(-(2 ** 31), Math.min(2 ** 31 - 1, (scores.get(groupId) ?? 0) + score)));
  return [...scores].map(([groupId, score]) => ({ groupId, score }));
}

/** A channel that either did not want stays unwanted; a contact's own unsubscription (1) outweighs the rest. */
function strictest(
  one: Record<string, DoNotContactEntry>,
  other: Record<string, DoNotContactEntry>,
): Record<string, DoNotContactEntry> {
  const entries = { ...other, ...one };
  for (const [channel, entry] of Object.entries(other)) if (entry.reason === 1) entries[channel] = entry;
  return entries;
}

function union<T extends { id: number }>(one: T[], other: T[]): T[] {
  return [...one, ...other.filter(({ id }) => !one.some((item) => item.id === id))];
}

function jsonOrNull(items: unknown[]): string | null {
  return items.length > 0 ? JSON.stringify(items) : null;
}

function age(row: ContactRow): string {
  return row.date_modified ?? row.date_added ?? "";
}

function later(one: string | null | undefined, other: string | null | undefined): string | null {
  return (one ?? "") > (other ?? "") ? (one ?? null) : (other ?? null);
}

function earlier(one: string | null | undefined, other: string | null | undefined): string | null {
  if (!one || !other) return one ?? other ?? null;
  return one < other ? one : other;
}
