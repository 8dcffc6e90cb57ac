import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { backgroundDeadline } from "@tidings/database/database";
import {
  type CommandOutcome,
  ContactCommandSchema,
  type ContactCommandService,
  type IdentifyContactSchema,
} from "@tidings/proto/tidings/contact/v1/command";
import type { Actor } from "@tidings/rpc/actor";
import type { RpcClient } from "@tidings/rpc/client";
import { isOutage } from "@tidings/rpc/outage";
import { coalesce } from "@tidings/runtime/coalesce/coalesce";

/** The contact service, and the part of this one that sends commands to it. */
export interface Commander {
  contacts: RpcClient<typeof ContactCommandService>;
  actor: Actor;
}

/**
 * Carries out commands on contacts, up to 1,000: each once, however often it is sent under its key. The outcomes are in the order of the commands.
 * Throws while the contact service is away.
 */
export async function commandContacts(
  { contacts, actor }: Commander,
  commands: Command[],
): Promise<CommandOutcome[]> {
  const outgoing = { actor, deadlineMs: backgroundDeadline(), requestId: "" };
  const sent = commands.map((command) => create(ContactCommandSchema, command));
  return (await contacts.carryOutCommands({ commands: sent }, outgoing)).outcomes;
}

type Command = MessageInitShape<typeof ContactCommandSchema>;

/** Carries out one command. Throws while the contact service is away. */
export type CommandContact = (command: Command) => Promise<CommandOutcome | undefined>;

const TOGETHER_MAX = 100;

/** Commands that come at the same time are sent together. Where all of them take too long, each is sent alone. */
export function contactCommander(commander: Commander): CommandContact {
  const together = coalesce(
    async (commands: Command[]) => {
      const outcomes = await commandContacts(commander, commands);
      return new Map(commands.map((command, index) => [command, outcomes[index]]));
    },
    { itemsMax: TOGETHER_MAX },
  );
  return async (command) => {
    try {
      return (await together("commands", command)).get(command);
    } catch (error) {
      if (isOutage(error)) throw error;
      return (await commandContacts(commander, [command]))[0];
    }
  };
}

/** The contact that a visitor turned out to be. Throws while that cannot be found out. */
export async function identifyVisitor(
  command: CommandContact,
  {
    key,
    contactId,
    value,
  }: { key: string; contactId: number; value: MessageInitShape<typeof IdentifyContactSchema> },
): Promise<{ identifiedAs: number; isFound: boolean; isApart: boolean }> {
  const outcome = await command({ key, contactId, effect: { case: "identify", value } });
  if (!outcome?.contactId) throw new Error(`the contact of a visitor cannot be found: ${outcome?.message}`);
  const { contactId: identifiedAs, isFound, isApart } = outcome;
  return { identifiedAs, isFound, isApart };
}
