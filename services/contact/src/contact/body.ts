import { create } from "@bufbuild/protobuf";
import { timestampDate } from "@bufbuild/protobuf/wkt";
import { dateTimeText } from "@tidings/database/timestamp";
import { type Contact, ContactSchema } from "@tidings/proto/tidings/contact/v1/contact";
import { parseJson } from "@tidings/resource/json-member";
import { NOT_VALID, type Violation } from "@tidings/rpc/fault";
import { textOf } from "@tidings/runtime/plain-text";
import ipaddr from "ipaddr.js";
import type { FieldSet } from "../field/catalogue.ts";
import { type ChangeMode, type FieldValues, readFieldValues } from "../field/values.ts";
import { readId, readReference } from "../input/reference.ts";
import type { RecordChange } from "../record/kind.ts";
import { cleanTag } from "../tag/tag.ts";
import { type DoNotContactChange, readDoNotContact } from "./do-not-contact.ts";
import { type FrequencyRuleChanges, readFrequencyRules } from "./frequency-rules.ts";

/** The change of a contact that a body asks for, checked and in the text form of its columns. */
export interface ContactChange extends RecordChange {
  addTags: string[];
  removeTags: string[];
  /** A public address to link. */
  ipAddress: string | undefined;
  doNotContact: DoNotContactChange[];
  frequencyRules: FrequencyRuleChanges;
  /** Ids; null clears, undefined keeps. */
  owner: number | null | undefined;
  stage: number | null | undefined;
  /** All companies the contact is to belong to. */
  companies: number[] | undefined;
}

/** Reads a body. Unknown members are ignored; every bad one is reported. */
export function readContactChange(
  message: Contact | undefined,
  mode: ChangeMode,
  set: FieldSet,
): { change: ContactChange; violations: Violation[] } {
  const contact = message ?? create(ContactSchema);
  const sent: Record<string, unknown> = contact.values.length > 0 ? parseJson(contact.values) : {};
  const violations: Violation[] = [];
  const change: ContactChange = {
    sent,
    values: readValues(contact, sent, mode, set, violations),
    ...readTags(contact.tags, violations),
    ipAddress: publicAddress(contact.ipAddress),
    doNotContact: readDoNotContact(contact.doNotContact, violations),
    frequencyRules: readFrequencyRules(contact.frequencyRules, violations),
    owner: readReference("owner", contact.owner, violations),
    stage: readReference("stage", contact.stage, violations),
    companies: readCompanies(contact.companies, violations),
  };
  return { change, violations };
}

/** Not form fields: a PUT that does not name them leaves them alone. */
const KEPT_BY_REPLACE = new Set(["points", "last_active"]);

function readValues(
  contact: Contact,
  sent: Record<string, unknown>,
  mode: ChangeMode,
  set: FieldSet,
  violations: Violation[],
): FieldValues {
  const writesBlanks = contact.overwriteWithBlank;
  const options = { set, mode, writesBlanks, keptByReplace: KEPT_BY_REPLACE };
  const values = readFieldValues(sent, options, violations);
  if (contact.points !== undefined) values.set("points", String(contact.points));
  if (contact.lastActive)
    values.set("last_active", dateTimeText(timestampDate(contact.lastActive).getTime()));
  return values;
}

const TAG_LENGTH_MAX = 191;
const TAGS_MAX = 100;

/** `["a", "-b"]` or `"a,-b"`: adds a, removes b. */
function readTags(json: Uint8Array, violations: Violation[]): { addTags: string[]; removeTags: string[] } {
  const input: unknown = json.length > 0 ? parseJson(json) : [];
  const list =
    typeof input === "object" ? Object.values(input ?? {}) : (textOf(input) ?? "").split(",", TAGS_MAX + 1);
  const words = list.length <= TAGS_MAX ? list.map(textOf) : [undefined];
  const tags = words.map((word) => cleanTag(word ?? ""));
  const isUsable = !words.includes(undefined) && tags.every((tag) => tag.length <= TAG_LENGTH_MAX);
  if (!isUsable) violations.push({ field: "tags", message: NOT_VALID });
  const names = [...new Set(tags.filter((tag) => tag !== "" && tag !== "-"))];
  return {
    addTags: names.filter((tag) => !tag.startsWith("-")),
    removeTags: names.filter((tag) => tag.startsWith("-")).map((tag) => tag.slice(1)),
  };
}

/** The tags in a text, as visitors send it: without those that no contact may have. */
export function usableTags(text: string): string[] {
  return text.split(",", TAGS_MAX).filter((tag) => cleanTag(tag).length <= TAG_LENGTH_MAX);
}

/** Private and malformed addresses identify nobody and are ignored. */
export function publicAddress(text: string | undefined): string | undefined {
  if (!text || text.length > ADDRESS_LENGTH_MAX || !ipaddr.isValid(text)) return undefined;
  const address = ipaddr.process(text);
  return address.range() === "unicast" ? address.toString() : undefined;
}

const ADDRESS_LENGTH_MAX = 50;
const COMPANIES_MAX = 100;

function readCompanies(json: Uint8Array, violations: Violation[]): number[] | undefined {
  if (json.length === 0) return undefined;
  const input = parseJson(json);
  const items =
    input === "" || input === null ? [] : typeof input === "object" ? Object.values(input) : [input];
  const ids = items.map(readId);
  if (ids.length > COMPANIES_MAX || ids.includes(undefined)) {
    violations.push({ field: "companies", message: NOT_VALID });
    return undefined;
  }
  return [...new Set(ids as number[])];
}
