import { CompanyService } from "@tidings/proto/tidings/contact/v1/company";
import { ContactService } from "@tidings/proto/tidings/contact/v1/contact";
import type { ActorSigner } from "@tidings/rpc/actor";
import { connect, rpcClient } from "@tidings/rpc/client";
import type { Render } from "./fan-out.ts";
import type { Source } from "./occurrence.ts";
import { serviceActor } from "./service-actor.ts";

export interface Contacts {
  renderContacts: Render;
  renderCompanies: Render;
  close(): void;
}

const TIMEOUT_MS = 10_000;

/** What this process asks of the contact service. */
export function connectContacts(address: string, sign: ActorSigner): Contacts {
  const connection = connect(address);
  const contacts = rpcClient(ContactService, connection, sign);
  const companies = rpcClient(CompanyService, connection, sign);
  const outgoing = () => ({ actor: serviceActor, deadlineMs: Date.now() + TIMEOUT_MS, requestId: "" });
  return {
    renderContacts: (sources) =>
      inOrder(sources, async (request) => (await contacts.renderContacts(request, outgoing())).contacts),
    renderCompanies: (sources) =>
      inOrder(sources, async (request) => (await companies.renderCompanies(request, outgoing())).companies),
    close: () => connection.close(),
  };
}

/** The service answers the snapshots first and then the ids. */
async function inOrder(
  sources: Source[],
  ask: (request: { snapshots: Uint8Array[]; ids: number[] }) => Promise<Uint8Array[]>,
): Promise<Uint8Array[]> {
  const snapshots = sources.flatMap((source) => ("snapshot" in source ? [source.snapshot] : []));
  const ids = sources.flatMap((source) => ("id" in source ? [source.id] : []));
  const answers = await ask({ snapshots, ids });
  let [snapshot, id] = [0, snapshots.length];
  return sources.map((source) => {
    const answer = answers["snapshot" in source ? snapshot++ : id++];
    if (!answer) throw new Error("the contact service left something out");
    return answer;
  });
}
