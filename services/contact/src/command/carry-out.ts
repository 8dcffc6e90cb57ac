import { create } from "@bufbuild/protobuf";
import { ALONE, type Command, type Outcome } from "@tidings/commands/once";
import { joined } from "@tidings/database/database";
import type { Transaction } from "@tidings/database/transaction";
import type { ContactCommand } from "@tidings/proto/tidings/contact/v1/command";
import { type Contact, ContactSchema } from "@tidings/proto/tidings/contact/v1/contact";
import { isObject, jsonBytes, parseJson } from "@tidings/resource/json-member";
import type { Call } from "@tidings/rpc/call";
import { badRequest, Code, notFound, unavailable } from "@tidings/rpc/fault";
import { readContacts } from "../contact/referred.ts";
import { removeContacts } from "../contact/remove.ts";
import { contactSaver } from "../contact/save.ts";
import type { FieldCatalogue } from "../field/catalogue.ts";
import type { BuildServices } from "../segment/build/build.ts";
import { changeMembersIn } from "../segment/build/members.ts";
import { lockMembers } from "../segment/follow/member-lock.ts";
import { addCompanyScores, companiesOfContacts, type EditRows, editRows } from "./edit-rows.ts";
import type { Found } from "./identify.ts";
import { identifyContacts } from "./identify-in-sets.ts";

/** A command with its key, as it was sent. */
export interface KeyedCommand extends Command {
  contactId: number;
  effect: ContactCommand["effect"];
}

/** The context of commands: contacts, and the segments that follow them. */
export type CommandContext = BuildServices & Parameters<typeof contactSaver>[0];

/** The contact that a command took effect on; where an identification found it, that is said. */
export type Effected = number | Found;

/** A command on the contact that is there now. */
interface Placed<E> {
  contactId: number;
  effect: E;
}

type Case = ContactCommand["effect"]["case"];
type EffectOf<C extends Case> = Extract<ContactCommand["effect"], { case: C }>;

/**
 * The kinds of commands, in the order in which those of a call take effect. Each has a transaction of its own, which locks its contacts once, in the
 * order of their ids.
 */
export const KINDS = ["identify", "edit", "row", "score", "segments", "delete"] as const;
type Kind = (typeof KINDS)[number];

export function kindOf({ effect }: Pick<KeyedCommand, "effect">): Kind | undefined {
  switch (effect.case) {
    case "points":
    case "stage":
      return "row";
    case "company":
      return effect.value.action === "score" ? "score" : "row";
    default:
      return effect.case;
  }
}

interface Carrying {
  kind: Kind;
  catalogue: FieldCatalogue;
  transaction: Transaction;
  call: Call;
}

/** Carries out commands of one kind in a transaction, as a set. Returns the contact that each took effect on: merged contacts are those that they became a part of. */
export async function carryOut(
  context: CommandContext,
  { kind, ...carrying }: Carrying,
  commands: KeyedCommand[],
): Promise<(Outcome<Effected> | typeof ALONE)[]> {
  const { transaction } = carrying;
  const within = { context: { ...context, database: joined(context.database, transaction) }, ...carrying };
  // Its contact may not be there yet.
  if (kind === "identify") return identifyContacts(within, only(commands, "identify"));
  // Before any contact is locked: the transaction that holds the members may want the same contacts.
  if (kind === "segments") lockMembers(transaction);
  for (let tries = 1; tries <= TRIES_MAX; tries += 1) {
    const { outcomes, merged } = await carryOutPlaced(within, kind, commands);
    if (merged.size === 0) return outcomes;
    if (commands.length > 1)
      return commands.map(({ contactId }, index) =>
        merged.has(contactId) ? ALONE : (outcomes[index] ?? GONE),
      );
  }
  throw unavailable("The contact is being merged again and again.");
}

const TRIES_MAX = 6;
const GONE: Outcome<never> = { fault: notFound("Contact not found.") };

/** Carries out commands on the contacts that are there now. `merged` are contacts that were merged before they were locked: their commands did nothing. */
async function carryOutPlaced(
  within: Within,
  kind: Exclude<Kind, "identify">,
  commands: KeyedCommand[],
): Promise<{ outcomes: Outcome<Effected>[]; merged: Set<number> }> {
  const { transaction } = within;
  const contacts = await readContacts(
    transaction.query,
    commands.map(({ contactId }) => contactId),
  );
  const placed = commands.flatMap(({ contactId, effect }) => {
    const row = contacts.get(contactId);
    return row ? [{ contactId: Number(row.id), effect }] : [];
  });
  const results = (await outcomesOf(within, kind, placed)).values();
  const outcomes = commands.map(({ contactId }) => {
    const result = contacts.has(contactId) ? results.next().value : undefined;
    return result ?? GONE;
  });
  const missed = commands.flatMap(({ contactId }, index) => {
    const outcome = outcomes[index];
    const isMissing = outcome && "fault" in outcome && outcome.fault.code === Code.NOT_FOUND;
    return isMissing && contacts.has(contactId) ? [contactId] : [];
  });
  const survivors = missed.length > 0 ? await readContacts(transaction.query, missed) : new Map();
  const merged = missed.filter((id) => survivors.has(id) && survivors.get(id).id !== contacts.get(id)?.id);
  return { outcomes, merged: new Set(merged) };
}

type Within = Omit<Carrying, "kind"> & { context: CommandContext };

async function outcomesOf(
  within: Within,
  kind: Exclude<Kind, "identify">,
  placed: Placed<ContactCommand["effect"]>[],
): Promise<Outcome<Effected>[]> {
  const { context, call } = within;
  switch (kind) {
    case "edit":
      return editContacts(context, only(placed, "edit"), call);
    case "row":
      return editRows(within, only(placed, "points", "stage", "company"));
    case "score":
      return scoreCompanies(within, only(placed, "company"));
    case "segments":
      return changeSegments(context, within, only(placed, "segments"));
    case "delete":
      return deleteContacts(context, only(placed, "delete"), call);
  }
}

/** The commands with such an effect. */
function only<C extends Case>(
  commands: Placed<ContactCommand["effect"]>[],
  ...cases: C[]
): Placed<EffectOf<C>>[] {
  return commands.filter((command): command is Placed<EffectOf<C>> =>
    (cases as unknown[]).includes(command.effect.case),
  );
}

/** A score without a company is that of each company of the contact. */
async function scoreCompanies(
  editing: EditRows,
  commands: Placed<EffectOf<"company">>[],
): Promise<Outcome<number>[]> {
  const ofAll = commands.flatMap(({ contactId, effect }) => (effect.value.companyId === 0 ? contactId : []));
  const companies = await companiesOfContacts(editing.transaction, ofAll);
  const added = commands.flatMap(({ contactId, effect: { value } }) => {
    const ids = value.companyId === 0 ? (companies.get(contactId) ?? []) : [value.companyId];
    return ids.map((companyId) => ({ contactId, companyId, score: value.score }));
  });
  const outcomes = await addCompanyScores(editing, added);
  return commands.map(({ contactId, effect: { value } }) => {
    const own = added.flatMap((add, index) =>
      add.contactId === contactId && (value.companyId === 0 || add.companyId === value.companyId)
        ? (outcomes[index] ?? [])
        : [],
    );
    return own.find((outcome) => "fault" in outcome) ?? { value: contactId };
  });
}

async function editContacts(
  context: CommandContext,
  edits: Placed<EffectOf<"edit">>[],
  call: Call,
): Promise<Outcome<number>[]> {
  if (edits.length === 0) return [];
  const requests = edits.map(({ contactId, effect }) => ({
    id: contactId,
    message: contactOf(effect.value.body),
  }));
  const outcomes = await contactSaver(context).many(requests, call);
  return outcomes.map((outcome) => ("fault" in outcome ? outcome : { value: Number(outcome.row.id) }));
}

/** The message of a body. Every member that is none of these is a field. */
function contactOf(body: Uint8Array): Contact {
  const sent: unknown = parseJson(body);
  if (!isObject(sent)) throw badRequest("The body is no object.");
  const { tags, doNotContact, frequencyRules, owner, overwriteWithBlank, ...values } = sent;
  const json = (value: unknown) => (value === undefined ? new Uint8Array() : jsonBytes(value));
  return create(ContactSchema, {
    values: jsonBytes(values),
    tags: json(tags),
    doNotContact: json(doNotContact),
    frequencyRules: json(frequencyRules),
    overwriteWithBlank: overwriteWithBlank === true,
    ...(owner !== undefined && { owner: jsonBytes(owner) }),
  });
}

/** One statement for each segment and direction. A segment that is gone is NOT_FOUND. */
async function changeSegments(
  context: CommandContext,
  { catalogue, transaction }: { catalogue: FieldCatalogue; transaction: Transaction },
  commands: Placed<EffectOf<"segments">>[],
): Promise<Outcome<number>[]> {
  if (commands.length === 0) return [];
  const definitions = await context.readDefinitions(transaction.query);
  const isThere = (id: number) => definitions.has(id);
  const usable = commands.filter(({ effect: { value } }) => [...value.add, ...value.remove].every(isThere));
  const members = (direction: "add" | "remove") =>
    Map.groupBy(
      usable.flatMap(({ contactId, effect }) =>
        effect.value[direction].map((segmentId) => ({ segmentId, contactId })),
      ),
      ({ segmentId }) => segmentId,
    );
  for (const [direction, isAdded] of [
    ["add", true],
    ["remove", false],
  ] as const)
    for (const [segmentId, changed] of members(direction)) {
      const definition = definitions.get(segmentId);
      const ids = [...new Set(changed.map(({ contactId }) => contactId))];
      if (definition)
        await changeMembersIn(context, { transaction, catalogue }, { definition, ids, isAdded });
    }
  return commands.map(
    (command): Outcome<number> =>
      usable.includes(command)
        ? { value: command.contactId }
        : { fault: notFound("The segment was not found.") },
  );
}

async function deleteContacts(
  context: CommandContext,
  commands: Placed<EffectOf<"delete">>[],
  call: Call,
): Promise<Outcome<number>[]> {
  if (commands.length === 0) return [];
  const ids = commands.map(({ contactId }) => contactId);
  const outcomes = await removeContacts(context, ids, call);
  return outcomes.map((outcome) => ("fault" in outcome ? outcome : { value: Number(outcome.row.id) }));
}
