import { createHash } from "node:crypto";
import { toBinary } from "@bufbuild/protobuf";
import { COMMANDS_MAX } from "@tidings/commands/keys";
import { carryOutOnce, type Outcome } from "@tidings/commands/once";
import { prepared } from "@tidings/database/database";
import {
  type ContactCommand,
  ContactCommandSchema,
  type ContactCommandService,
} from "@tidings/proto/tidings/contact/v1/command";
import { awaitRows } from "@tidings/resource/await-rows";
import { jsonBytes } from "@tidings/resource/json-member";
import type { Call } from "@tidings/rpc/call";
import type { Handlers } from "@tidings/rpc/definition";
import { badRequest, notFound } from "@tidings/rpc/fault";
import { isOutdated, underCatalogue } from "../field/catalogue.ts";
import { limit } from "../record/limit.ts";
import { setCulpritsAside } from "../segment/build/culprits.ts";
import {
  type CommandContext,
  carryOut,
  type Effected,
  type KeyedCommand,
  KINDS,
  kindOf,
} from "./carry-out.ts";
import { contactableOf, type UsualFrequencies } from "./contactable.ts";
import { findByNumber } from "./find-by-number.ts";
import { listRecipients } from "./list-recipients.ts";
import { readContactFields } from "./read-fields.ts";
import { readPreferences } from "./read-preferences.ts";
import { refuseAddress } from "./refuse-address.ts";
import { tryIdentification } from "./try-identification.ts";

const KEY_LENGTH_MAX = 255;
const READ_MAX = 5_000;
const SEGMENTS_MAX = 1_000;
const CHOSEN_MAX = 20_000;
const RESERVED_MAX = 10_000;
const ALIASES_MAX = 500;

const labelsStatement = prepared(
  "fields_labels",
  "select alias, label from fields where alias = any((select $1::text[])::text[])",
);
const reserveStatement = prepared(
  "contacts_reserve_ids",
  "select nextval('contacts_id_seq') as id from generate_series(1, (select $1::integer))",
);

/** Changes and questions of other services, each about many contacts at once. */
export function commandHandlers(
  context: CommandContext,
  usual: UsualFrequencies = {},
): Handlers<typeof ContactCommandService> {
  const { database } = context;
  return {
    ...contactQuestions(context, usual),

    async carryOutCommands({ commands }, call) {
      if (commands.length > COMMANDS_MAX)
        throw badRequest(`At most ${COMMANDS_MAX} commands are carried out at once.`);
      const usable = commands.filter(isUsable).map(keyed);
      await awaitNamed(context, usable, call);
      const outcomes = await carryOutByKind(context, usable, call);
      const carriedOut = usable.values();
      return {
        outcomes: commands.map((command) => {
          const own = isUsable(command) ? carriedOut.next().value : undefined;
          const outcome = own && outcomes.get(own);
          return answerOf(outcome ?? { fault: badRequest("A command needs a key and an effect.") });
        }),
      };
    },

    async tryIdentification(request, call) {
      const asOwner = { ...call, reach: () => "all" as const };
      const { changes, ...tried } = await tryIdentification(context, request, asOwner);
      return { ...tried, changes: jsonBytes(changes) };
    },

    async reserveContactIds({ count }, { deadlineMs }) {
      limit(count, RESERVED_MAX);
      const rows = await database.query(reserveStatement, [count], deadlineMs);
      return { ids: rows.map(({ id }) => Number(id)) };
    },

    async refuseAddress({ channel, address, reason }, { deadlineMs }) {
      if (channel !== "email") throw badRequest("Addresses of emails alone are refused.");
      const refused = { address, reason, key: context.suppressionKey };
      return { contactIds: await refuseAddress(database, refused, deadlineMs) };
    },
  };
}

type Questions = Pick<
  Handlers<typeof ContactCommandService>,
  | "readContactFields"
  | "readFieldLabels"
  | "checkContactable"
  | "listRecipients"
  | "findContactsByNumber"
  | "readPreferences"
>;

function contactQuestions(context: CommandContext, usual: UsualFrequencies): Questions {
  const { database, catalogues } = context;
  return {
    async readContactFields({ ids, aliases }, { deadlineMs }) {
      limit(ids.length, READ_MAX);
      limit(aliases.length, ALIASES_MAX);
      const catalogue = await catalogues.current();
      return { contacts: await readContactFields(database, catalogue, { ids, aliases }, deadlineMs) };
    },

    async readFieldLabels({ aliases }, { deadlineMs }) {
      limit(aliases.length, ALIASES_MAX);
      const rows = await database.query(labelsStatement, [aliases], deadlineMs);
      return { labels: Object.fromEntries(rows.map(({ alias, label }) => [alias ?? "", label ?? ""])) };
    },

    async checkContactable({ channel, ids }, { deadlineMs }) {
      limit(ids.length, READ_MAX);
      const asked = { channel, ids, usual, key: context.suppressionKey };
      return { contacts: await contactableOf(database, asked, deadlineMs) };
    },

    async listRecipients({ pageSize, ...asked }, { deadlineMs }) {
      limit(asked.segmentIds.length, SEGMENTS_MAX);
      limit(asked.excludedSegmentIds.length, SEGMENTS_MAX);
      limit(asked.chosenContactIds.length, CHOSEN_MAX);
      limit(pageSize, READ_MAX);
      return listRecipients(database, { ...asked, size: Math.max(1, pageSize) }, deadlineMs);
    },

    async findContactsByNumber({ number }, { deadlineMs }) {
      return { contacts: await findByNumber(database, number, deadlineMs) };
    },

    async readPreferences({ contactId }, { deadlineMs }) {
      const preferences = await readPreferences(database, contactId, deadlineMs);
      if (!preferences) throw notFound("Contact not found.");
      return preferences;
    },
  };
}

/** The commands of a call, one kind after the other, with their outcomes. */
async function carryOutByKind(
  context: CommandContext,
  commands: KeyedCommand[],
  call: Call,
): Promise<Map<KeyedCommand, Outcome<Effected>>> {
  const { database, catalogues } = context;
  const asOwner = { ...call, reach: () => "all" as const };
  const limits = {
    deadlineMs: call.deadlineMs,
    isForCaller: isOutdated,
    mend: (failed: KeyedCommand[]) => mendSegments(context, failed),
  };
  const outcomes = new Map<KeyedCommand, Outcome<Effected>>();
  for (const kind of KINDS) {
    const some = commands.filter((command) => kindOf(command) === kind);
    if (some.length === 0) continue;
    const done = await underCatalogue(catalogues, (catalogue) =>
      carryOutOnce<KeyedCommand, Effected>(
        database,
        some,
        (transaction, fresh) => carryOut(context, { kind, catalogue, transaction, call: asOwner }, fresh),
        limits,
      ),
    );
    for (const [index, command] of some.entries())
      outcomes.set(command, done[index] ?? { fault: notFound() });
  }
  return outcomes;
}

function isUsable({ key, effect }: ContactCommand): boolean {
  return key !== "" && key.length <= KEY_LENGTH_MAX && effect.case !== undefined;
}

function keyed(command: ContactCommand): KeyedCommand {
  const digest = createHash("sha256").update(toBinary(ContactCommandSchema, command)).digest("base64url");
  const { key, contactId, effect } = command;
  return { key, fingerprint: digest, contactId, effect };
}

/** A segment that cannot be evaluated fails no command that changes members. */
async function mendSegments(context: CommandContext, commands: KeyedCommand[]): Promise<boolean> {
  const changing = commands.filter(({ effect }) => effect.case === "segments");
  return (
    changing.length > 0 &&
    setCulpritsAside(
      context,
      changing.map(({ contactId }) => contactId),
    )
  );
}

/** Stages and groups that were made a moment ago may not be replicated yet. Owners are awaited where an edit is read. */
async function awaitNamed({ database }: CommandContext, commands: KeyedCommand[], call: Call): Promise<void> {
  const stages = commands.flatMap(({ effect }) =>
    effect.case === "stage" ? (effect.value.stageId ?? []) : [],
  );
  const groups = commands.flatMap(({ effect }) =>
    effect.case === "points" ? (effect.value.groupId ?? []) : [],
  );
  await awaitRows(database, "stages", stages, call.deadlineMs);
  await awaitRows(database, "point_groups", groups, call.deadlineMs);
}

function answerOf(outcome: Outcome<Effected>) {
  if ("value" in outcome) {
    const { value } = outcome;
    const done = { reason: "", message: "" };
    if (typeof value === "number") return { ...done, contactId: value, isFound: false, isApart: false };
    return { ...done, contactId: value.found, isFound: true, isApart: value.isApart === true };
  }
  const { reason, message } = outcome.fault;
  return { reason, message, contactId: 0 };
}
