import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { backgroundDeadline } from "@tidings/database/database";
import {
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

/** Carries out a command on a contact: once, however often it is sent under its key. Throws while the contact service is away. */
export async function commandContact(
  { contacts, actor }: Commander,
  command: MessageInitShape<typeof ContactCommandSchema>,
) {
  const outgoing = { actor, deadlineMs: backgroundDeadline(), requestId: "" };
  const { outcomes } = await contacts.carryOutCommands(
    { commands: [create(ContactCommandSchema, command)] },
    outgoing,
  );
  return outcomes[0];
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
