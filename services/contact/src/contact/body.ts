import { timestampDate } from "@bufbuild/protobuf/wkt";
import type { Contact } from "@tidings/proto/tidings/contact/v1/contact";
import type { Violation } from "@tidings/rpc/fault";
import ipaddr from "ipaddr.js";
import { type DoNotContactChange, readDoNotContact } from "./do-not-contact.ts";
import type { FieldCatalogue } from "./field.ts";
import { dateTimeText, readFieldValue } from "./field-value.ts";
import { type FrequencyRuleChanges, readFrequencyRules } from "./frequency-rules.ts";

/** What a request body asks of a contact, checked and in the text form of its columns. */
export interface ContactChange {
  /** Columns to set, by field alias. */
  values: Map<string, string | null>;
  addTags: string[];
  removeTags: string[];
  /** A public address to link. */
  ipAddress: string | undefined;
  doNotContact: DoNotContactChange[];
  frequencyRules: FrequencyRuleChanges;
}

/** `replace` is PUT: fields that are not sent are cleared. */
export type ChangeMode = "create" | "patch" | "replace";

/** Reads a body. Unknown members are ignored; every bad one is reported. */
export function readContactChange(
  contact: Contact,
  mode: ChangeMode,
  catalogue: FieldCatalogue,
): { change: ContactChange; violations: Violation[] } {
  const violations: Violation[] = [];
  const tags = readTags(contact.tags, violations);
  const change: ContactChange = {
    values: readValues(contact, mode, catalogue, violations),
    ...tags,
    ipAddress: publicAddress(contact.ipAddress),
    doNotContact: readDoNotContact(contact.doNotContact, violations),
    frequencyRules: readFrequencyRules(contact.frequencyRules, violations),
  };
  return { change, violations };
}

function readValues(
  contact: Contact,
  mode: ChangeMode,
  catalogue: FieldCatalogue,
  violations: Violation[],
): Map<string, string | null> {
  const sent: Record<string, unknown> = contact.values.length > 0 ? parseJson(contact.values) : {};
  const writesBlanks = mode === "replace" || contact.overwriteWithBlank;
  const values = new Map<string, string | null>();
  for (const field of catalogue.fields) {
    if (KEPT_BY_REPLACE.has(field.alias) && !Object.hasOwn(sent, field.alias)) continue;
    const isSent = Object.hasOwn(sent, field.alias);
    if (!isSent && mode !== "replace") continue;
    const read = readFieldValue(field, sent[field.alias]);
    if ("problem" in read) violations.push({ field: field.alias, message: read.problem });
    else if (read.value !== null || writesBlanks) values.set(field.alias, read.value);
  }
  if (contact.points !== undefined) values.set("points", String(contact.points));
  if (contact.lastActive)
    values.set("last_active", dateTimeText(timestampDate(contact.lastActive).getTime()));
  return values;
}

/** Not form fields: a PUT that does not name them leaves them alone. */
const KEPT_BY_REPLACE = new Set(["points", "last_active"]);

const TAG_LENGTH_MAX = 191;
const TAGS_MAX = 100;

/** `["a", "-b"]` or `"a,-b"`: adds a, removes b. */
function readTags(json: Uint8Array, violations: Violation[]): { addTags: string[]; removeTags: string[] } {
  const input = json.length > 0 ? parseJson(json) : [];
  const words = typeof input === "string" ? input.split(",") : Object.values(input ?? {});
  const tags = words.map((word) => (typeof word === "object" ? "" : String(word).trim()));
  const isUsable =
    words.length <= TAGS_MAX &&
    words.every((word) => typeof word === "string" || typeof word === "number") &&
    tags.every((tag) => tag.length <= TAG_LENGTH_MAX);
  if (!isUsable) violations.push({ field: "tags", message: "This value is not valid." });
  const names = [...new Set(tags.filter((tag) => tag !== "" && tag !== "-"))];
  return {
    addTags: names.filter((tag) => !tag.startsWith("-")),
    removeTags: names.filter((tag) => tag.startsWith("-")).map((tag) => tag.slice(1)),
  };
}

/** Private and malformed addresses tell nothing about a contact and are ignored. */
function publicAddress(text: string | undefined): string | undefined {
  if (!text || !ipaddr.isValid(text)) return undefined;
  const address = ipaddr.process(text);
  return address.range() === "unicast" ? address.toString() : undefined;
}

// JSON the gateway wrote: any shape a client may have sent.
function parseJson(bytes: Uint8Array) {
  return JSON.parse(Buffer.from(bytes).toString());
}
