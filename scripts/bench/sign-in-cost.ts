import { backgroundDeadline, openDatabase } from "@tidings/database/database";
import { freePort } from "@tidings/embedded/free-port";
import { createClient } from "@tidings/gateway/oauth/manage-clients";
import { createOutbox } from "@tidings/messaging/outbox";
import { createLog } from "@tidings/runtime/log";
import { type ActorKeyRing, generateActorKeyRing } from "../actor-keys.ts";
import { measure, type Target } from "./measure.ts";
import { schemaUrl } from "./schema-url.ts";
import { startBareServer } from "./start-bare-server.ts";
import { median } from "./statistics.ts";
import type { TemporaryStack } from "./temporary-stack.ts";

/** How the contact service is reached by a gateway that the stack knows nothing of. */
export interface WaysIn {
  contactPort: number;
  addresses: { CONTACT_ADDRESS: string };
  actorKeyRing: ActorKeyRing;
}

export async function waysIn(): Promise<WaysIn> {
  const contactPort = await freePort();
  return {
    contactPort,
    addresses: { CONTACT_ADDRESS: `127.0.0.1:${contactPort}` },
    actorKeyRing: generateActorKeyRing(),
  };
}

export interface SignInCost {
  name: string;
  /** Microseconds of the gateway's CPU for a GET, and those of one that asks nobody who comes. */
  cpu: number;
  openCpu: number;
}

const ROUNDS = 5;
const CONNECTIONS = 16;

/** Measures the cost of identifying a caller by a password and by a token: medians of rounds in turn. */
export async function measureSignInCost(
  ours: Target,
  { stack, postgres }: TemporaryStack,
  { addresses, actorKeyRing }: WaysIn,
  { contacts, seconds }: { contacts: number; seconds: number },
): Promise<SignInCost[]> {
  const open = await startBareServer("open-gateway.ts", {
    ...addresses,
    DATABASE_URL: schemaUrl(postgres.url, "identity"),
    ACTOR_PRIVATE_KEY: actorKeyRing.gateway.privateKey,
  });
  try {
    const pids = [stack.process("gateway").pid];
    const token = await accessToken(ours, postgres.url);
    const targets = {
      open: { url: open.url, headers: { authorization: "Basic anybody" }, pids: [open.pid] },
      "HTTP Basic": { ...ours, pids },
      "bearer token": { url: ours.url, headers: { authorization: `Bearer ${token}` }, pids },
    };
    const names = Object.keys(targets) as (keyof typeof targets)[];
    const rounds = new Map(names.map((name) => [name, [] as number[]]));
    for (let round = -1; round < ROUNDS; round += 1) {
      for (const name of names) {
        const path = `/api/contacts/${1 + Math.floor(Math.random() * contacts)}`;
        const request = () => ({ method: "GET" as const, path });
        const { cpu } = await measure(targets[name], { connections: CONNECTIONS, seconds, request });
        if (round >= 0) rounds.get(name)?.push(cpu);
      }
    }
    const cpuOf = (name: keyof typeof targets) => median(rounds.get(name) ?? []);
    return (["HTTP Basic", "bearer token"] as const).map((name) => ({
      name,
      cpu: cpuOf(name),
      openCpu: cpuOf("open"),
    }));
  } finally {
    await open.stop();
  }
}

const ADMINISTRATORS = 1;

/** A token for an app that acts on its own with the rights of an administrator. */
async function accessToken({ url }: Target, databaseUrl: string): Promise<string> {
  const log = createLog("bench", "silent");
  const database = openDatabase({ url: schemaUrl(databaseUrl, "identity"), log, connectionsMax: 1 });
  const draft = {
    name: "Bench",
    redirectUris: [],
    grants: ["client_credentials" as const],
    isPublic: false,
    roleId: ADMINISTRATORS,
  };
  const author = { actor: undefined, clientIp: undefined };
  const { client, secret = "" } = await createClient(
    { database, outbox: createOutbox() },
    draft,
    author,
    backgroundDeadline(),
  );
  await database.close();
  const fields = { grant_type: "client_credentials", client_id: client.publicId, client_secret: secret };
  const response = await fetch(`${url}/oauth/v2/token`, {
    method: "POST",
    body: new URLSearchParams(fields),
  });
  const { access_token } = (await response.json()) as { access_token: string };
  return access_token;
}
