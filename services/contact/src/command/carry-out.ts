import { create } from "@bufbuild/protobuf";
import type { Command, Outcome } from "@tidings/commands/once";
import { joined } from "@tidings/database/database";
import type { Transaction } from "@tidings/database/transaction";
import type { ContactCommand } from "@tidings/proto/tidings/contact/v1/command";
import { type Contact, ContactSchema } from "@tidings/proto/tidings/contact/v1/contact";
import { isObject, jsonBytes, parseJson } from "@tidings/resource/json-member";
import type { Call } from "@tidings/rpc/call";
import { badRequest, notFound } from "@tidings/rpc/fault";
import { readContacts } from "../contact/referred.ts";
import { removeContacts } from "../contact/remove.ts";
import { contactSaver } from "../contact/save.ts";
import type { FieldCatalogue } from "../field/catalogue.ts";
import type { BuildServices } from "../segment/build/build.ts";
import { changeMembersIn } from "../segment/build/members.ts";
import { lockMembers } from "../segment/follow/member-lock.ts";
import {
  addCompanyScores,
  companiesOfContacts,
  type EditRows,
  editRows,
  type RowCommand,
} from "./edit-rows.ts";
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

/** Commands of one kind, with their places among all of them. */
interface Placed<E> {
  index: number;
  contactId: number;
  effect: E;
}

type EffectOf<C extends ContactCommand["effect"]["case"]> = Extract<ContactCommand["effect"], { case: C }>;

/**
 * Carries out commands in a transaction, kind by kind in sets: identifications, then edits, points, scores, stages and companies, then segments, then
 * deletions. Returns the contact that each took effect on: merged contacts are those that they became a part of.
 */
export async function carryOut(
  context: CommandContext,
  { catalogue, transaction, call }: { catalogue: FieldCatalogue; transaction: Transaction; call: Call },
  commands: KeyedCommand[],
): Promise<Outcome<Effected>[]> {
  const within = { ...context, database: joined(context.database, transaction) };
  const isOfSegments = commands.some(({ effect }) => effect.case === "segments");
  // Before any contact is locked: the transaction that holds the members may want the same contacts.
  if (isOfSegments) lockMembers(transaction);
  const ids = commands.map(({ contactId }) => contactId);
  const contacts = await readContacts(transaction.query, ids);
  const outcomes: Outcome<Effected>[] = commands.map(() => ({ fault: notFound("Contact not found.") }));
  const placed = commands.flatMap(({ contactId, effect }, index) => {
    const row = contacts.get(contactId);
    return row ? [{ index, contactId: Number(row.id), effect }] : [];
  });
  const kind = <C extends ContactCommand["effect"]["case"]>(...cases: C[]): Placed<EffectOf<C>>[] =>
    placed.filter((command): command is Placed<EffectOf<C>> =>
      (cases as unknown[]).includes(command.effect.case),
    );
  const keep = (of: { index: number }[], results: Outcome<Effected>[]) => {
    for (const [position, { index }] of of.entries())
      outcomes[index] = results[position] ?? { fault: notFound() };
  };

  // Its contact may not be there yet.
  const identifying = { context: within, catalogue, transaction, call };
  const identifications = commands.flatMap(({ contactId, effect }, index) =>
    effect.case === "identify" ? [{ index, contactId, effect }] : [],
  );
  keep(identifications, await identifyContacts(identifying, identifications));
  const edits = kind("edit");
  keep(edits, await editContacts(within, edits, call));
  const rows = kind("points", "stage", "company").filter((command) => !isCompanyScore(command));
  const editing = { context: within, catalogue, transaction, call };
  keep(rows, await editRows(editing, rows as RowCommand[]));
  const scores = kind("company").filter(isCompanyScore);
  keep(scores, await scoreCompanies(editing, scores));
  const segments = kind("segments");
  keep(segments, await changeSegments(within, { catalogue, transaction }, segments));
  const deletions = kind("delete");
  keep(deletions, await deleteContacts(within, deletions, call));
  return outcomes;
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

function isCompanyScore({ effect }: Placed<ContactCommand["effect"]>): boolean {
  return effect.case === "company" && effect.value.action === "score";
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
