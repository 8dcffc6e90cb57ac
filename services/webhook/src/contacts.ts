import { ContactService } from "@tidings/proto/tidings/contact/v1/contact";
import type { ActorSigner } from "@tidings/rpc/actor";
import { connect, rpcClient } from "@tidings/rpc/client";
import { serviceActor } from "./service-actor.ts";

export interface Contacts {
  /** The JSON of contacts, in the order of their snapshots. */
  render(snapshots: Uint8Array[]): Promise<Uint8Array[]>;
  close(): void;
}

const TIMEOUT_MS = 10_000;

/** What this process asks of the contact service. */
export function connectContacts(address: string, sign: ActorSigner): Contacts {
  const connection = connect(address);
  const client = rpcClient(ContactService, connection, sign);
  return {
    async render(snapshots) {
      const outgoing = { actor: serviceActor, deadlineMs: Date.now() + TIMEOUT_MS, requestId: "" };
      return (await client.renderContacts({ snapshots }, outgoing)).contacts;
    },
    close: () => connection.close(),
  };
}
