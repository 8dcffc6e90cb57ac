import { CompanyMethodService } from "@tidings/proto/tidings/contact/v1/company";
import { ContactMethodService } from "@tidings/proto/tidings/contact/v1/contact";
import type { ActorSigner } from "@tidings/rpc/actor";
import { rpcClient } from "@tidings/rpc/client";
import type { Connection } from "@tidings/rpc/stream/connection";
import { slices } from "@tidings/runtime/slices";
import type { Render, Rendered } from "./fan-out.ts";
import type { Source } from "./occurrence.ts";
import { serviceActor } from "./service-actor.ts";

export interface Contacts {
  renderContacts: Render;
  renderCompanies: Render;
  close(): void;
}

const TIMEOUT_MS = 10_000;
const SOURCES_MAX = 1_000;

/** Calls to the contact service. */
export function connectContacts(connection: Connection, sign: ActorSigner): Contacts {
  const contacts = rpcClient(ContactMethodService, connection, sign);
  const companies = rpcClient(CompanyMethodService, connection, sign);
  const outgoing = () => ({ actor: serviceActor, deadlineMs: Date.now() + TIMEOUT_MS, requestId: "" });
  return {
    renderContacts: (sources) =>
      inOrder(sources, async (request) => {
        const { contacts: texts, ownerIds } = await contacts.renderContacts(request, outgoing());
        return { texts, ownerIds };
      }),
    renderCompanies: (sources) =>
      inOrder(sources, async (request) => {
        const { companies: texts, ownerIds } = await companies.renderCompanies(request, outgoing());
        return { texts, ownerIds };
      }),
    close: () => connection.close(),
  };
}

/** The service answers the snapshots first and then the ids, and takes no more than a thousand at once. */
async function inOrder(sources: Source[], ask: Ask): Promise<Rendered[]> {
  const rendered: Rendered[] = [];
  for (const slice of slices(sources, SOURCES_MAX)) rendered.push(...(await renderSlice(slice, ask)));
  return rendered;
}

type Ask = (request: {
  snapshots: Uint8Array[];
  ids: number[];
}) => Promise<{ texts: Uint8Array[]; ownerIds: number[] }>;

async function renderSlice(sources: Source[], ask: Ask): Promise<Rendered[]> {
  const snapshots = sources.flatMap((source) => ("snapshot" in source ? [source.snapshot] : []));
  const ids = sources.flatMap((source) => ("id" in source ? [source.id] : []));
  const { texts, ownerIds } = await ask({ snapshots, ids });
  let [snapshot, id] = [0, snapshots.length];
  return sources.map((source) => {
    const index = "snapshot" in source ? snapshot++ : id++;
    const text = texts[index];
    if (!text) throw new Error("the contact service left something out");
    return { json: Buffer.from(text).toString(), ownerId: ownerIds[index] ?? 0 };
  });
}
