import { Verb } from "@tidings/proto/tidings/api/v1/options";
import type { Actor } from "@tidings/rpc/actor";
import { invalid, NOT_VALID, type Violation } from "@tidings/rpc/fault";
import { reach } from "@tidings/rpc/permission";
import type { FieldSet } from "../field/catalogue.ts";
import { isoTime } from "../field/value.ts";
import { missingValues, setFieldValues } from "../field/values.ts";
import type { Application, Applied } from "../record/kind.ts";
import { added, edited } from "../record/write.ts";
import {
  type ContactRow,
  contactTable,
  doNotContactOf,
  frequencyRulesOf,
  ipAddressesOf,
  isAnonymous,
  tagsOf,
} from "../rows/contact.ts";
import type { ContactChange } from "./body.ts";
import { applyCompanies } from "./company-link.ts";
import { applyDoNotContact } from "./do-not-contact.ts";
import type { ContactLookups } from "./look-up.ts";

type ContactApplication = Application<ContactChange, ContactLookups>;

/** The contact after a change. */
export function applyChange(application: ContactApplication): Applied {
  const { row: before, isNew, change, mode, set, now, call } = application;
  const row = { ...before };
  setFieldValues(row, change.values, set, isNew);
  row.points ??= "0";
  const violations = [...applyReferences(row, application), ...applyCompanies(row, application)];
  if (violations.length > 0) return invalid(violations);
  applyAttribution(row, change, now);
  applyTags(row, application);
  applyIpAddress(row, application);
  applyChannels(row, application);
  identify(row, set, now);
  const sent = isNew || mode === "replace" ? "all" : new Set(Object.keys(change.sent));
  const missing = missingValues(row, sent, set);
  if (missing.length > 0) return invalid(missing);
  return isNew ? added(row, call.actor, now) : stampEdited(before, row, call.actor, now);
}

/** Gives an edited contact its version and stamps. Where nothing but derived text differs it is unchanged. */
export function stampEdited(
  before: ContactRow,
  row: ContactRow,
  actor: Actor,
  now: string,
): ContactRow | "unchanged" {
  const changed = contactTable.changedColumns(before, row);
  const isSame =
    changed.length === 0 && before.companies === row.companies && before.utm_tags === row.utm_tags;
  if (isSame) return "unchanged";
  // Being seen is not being edited.
  if (changed.length === 1 && changed[0] === "last_active")
    return { ...row, version: String(Number(before.version) + 1) };
  return edited(row, actor, now);
}

const STAGES = "stage:stages";

/** Owner and stage: ids of rows that must exist. */
function applyReferences(row: ContactRow, { change, lookups, call }: ContactApplication): Violation[] {
  const violations: Violation[] = [];
  const { owner, stage } = change;
  if (owner !== undefined) {
    const known = owner === null ? null : lookups.owner(owner);
    if (known === undefined) violations.push({ field: "owner", message: NOT_VALID });
    else Object.assign(row, { owner_id: textOf(owner), owner: known });
  }
  if (stage !== undefined) {
    // As in `stages/1/contact/2/add`: a stage is there for callers who may see stages. One that stays is not judged.
    const isThere = textOf(stage) === row.stage_id || reach(call.actor, STAGES, Verb.VIEW) !== "none";
    const known = stage === null ? null : isThere ? lookups.stage(stage) : undefined;
    if (known === undefined) violations.push({ field: "stage", message: NOT_VALID });
    else Object.assign(row, { stage_id: textOf(stage), stage: known });
  }
  return violations;
}

/** An attribution without a date is dated today; without an attribution there is no date. */
function applyAttribution(row: ContactRow, change: ContactChange, now: string): void {
  if (!change.values.has("attribution")) return;
  const isSet = row.attribution !== null && Number(row.attribution) !== 0;
  if (!isSet) row.attribution_date = null;
  else row.attribution_date ??= `${now.slice(0, 10)} 00:00:00+00`;
}

function applyTags(row: ContactRow, { change, lookups }: ContactApplication): void {
  if (change.addTags.length === 0 && change.removeTags.length === 0) return;
  const kept = tagsOf(row).filter(({ tag }) => !change.removeTags.includes(tag));
  const added = change.addTags.flatMap((tag) => {
    const known = lookups.tag(tag);
    return known && !kept.some(({ id }) => id === known.id) ? [{ ...known, tag }] : [];
  });
  const tags = [...kept, ...added].sort((a, b) => (a.tag < b.tag ? -1 : 1));
  row.tags =
    tags.length > 0
      ? JSON.stringify(tags.map(({ id, tag, description }) => ({ id, tag, description })))
      : null;
  row.tag_ids = arrayText(tags.map(({ id }) => id));
}

function applyIpAddress(row: ContactRow, { change, lookups }: ContactApplication): void {
  const { ipAddress: ip } = change;
  const known = ip === undefined ? undefined : lookups.address(ip);
  const addresses = ipAddressesOf(row);
  if (ip === undefined || !known || addresses.some(({ id }) => id === known.id)) return;
  const linked = [...addresses, { id: known.id, ip }];
  row.ip_addresses = JSON.stringify(linked);
  row.ip_address_ids = arrayText(linked.map(({ id }) => id));
}

function applyChannels(row: ContactRow, application: ContactApplication): void {
  const { change, lookups, now } = application;
  const dateAdded = isoTime(now);
  const wanted = [...suppressed(row, application), ...change.doNotContact];
  for (const { channel, reason } of change.doNotContact)
    if (reason === 0) lookups.lifts.push({ row, channel });
  if (wanted.length > 0) {
    const entries = doNotContactOf(row);
    let isChanged = false;
    for (const entry of wanted) {
      const before = Object.hasOwn(entries, entry.channel) ? entries[entry.channel] : undefined;
      const after = applyDoNotContact(before, entry, dateAdded, lookups.nextEntryId);
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

/** Suppressions of the addresses that the contact gets, from contacts that are gone. */
function suppressed(row: ContactRow, { row: before, isNew, lookups }: ContactApplication) {
  return lookups.suppressions.of(row, isNew ? undefined : before);
}

export function identify(row: ContactRow, set: FieldSet, now: string): void {
  if (row.date_identified) return;
  if (!isAnonymous(row, set.social)) row.date_identified = now;
}

/** The text form of an integer[]. */
export function arrayText(ids: number[]): string {
  return `{${ids.toSorted((a, b) => a - b).join(",")}}`;
}

function textOf(id: number | null): string | null {
  return id === null ? null : String(id);
}
