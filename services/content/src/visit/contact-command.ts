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
  commands: MessageInitShape<typeof ContactCommandSchema>[],
): Promise<CommandOutcome[]> {
  const outgoing = { actor, deadlineMs: backgroundDeadline(), requestId: "" };
  const sent = commands.map((command) => create(ContactCommandSchema, command));
  return (await contacts.carryOutCommands({ commands: sent }, outgoing)).outcomes;
}

/** The same for one command. */
export async function commandContact(
  commander: Commander,
  command: MessageInitShape<typeof ContactCommandSchema>,
) {
  const [outcome] = await commandContacts(commander, [command]);
  return outcome;
}

/** The contact that a visitor turned out to be. Throws while that cannot be found out. */
export async function identifyVisitor(
  commander: Commander,
  {
    key,
    contactId,
    value,
  }: { key: string; contactId: number; value: MessageInitShape<typeof IdentifyContactSchema> },
): Promise<{ identifiedAs: number; isFound: boolean }> {
  const outcome = await commandContact(commander, { key, contactId, effect: { case: "identify", value } });
  if (!outcome?.contactId) throw new Error(`the contact of a visitor cannot be found: ${outcome?.message}`);
  return { identifiedAs: outcome.contactId, isFound: outcome.isFound };
}
