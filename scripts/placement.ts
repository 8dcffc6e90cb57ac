import { randomBytes } from "node:crypto";
import { freePort } from "@tidings/embedded/free-port";
import { generateActorKeyRing, trustedKeys } from "./actor-keys.ts";
import { type ProcessName, type ProcessRow, processes } from "./processes.ts";
import { generateSecretKey } from "./secrets.ts";
import type { StackOptions } from "./stack.ts";

/** A process to run: `contact`, `webhook`, `gateway`, and `gateway-2` and so on when there are more. */
export interface Placement {
  row: ProcessRow;
  name: string;
  env: Record<string, string>;
}

/** Every process of a stack with its environment. Its ports are chosen here, so that they outlive a restart. */
export async function placeProcesses(
  options: StackOptions,
  databaseUrls: Record<string, string>,
): Promise<Placement[]> {
  const variables = await variablesByName(options);
  const place = async (row: ProcessRow, number: number): Promise<Placement> => ({
    row,
    name: number === 1 ? row.name : `${row.name}-${number}`,
    env: {
      ...inherited(row),
      DATABASE_URL: databaseUrls[row.schema] ?? "",
      NATS_URL: options.natsUrl,
      OPS_PORT: String(await freePort()),
      INTERNAL_ADDRESS: "127.0.0.1",
      // Nothing stands before these processes that would have to notice.
      SHUTDOWN_DELAY_MS: "0",
      ...(row.name === "gateway" && { PORT: String((number === 1 && options.port) || (await freePort())) }),
      ...variables[row.name],
      ...options.env?.[row.name],
    },
  });
  return Promise.all(
    processes.flatMap((row) => {
      const count = row.name === "gateway" ? (options.gateways ?? 1) : 1;
      return Array.from({ length: count }, (_, index) => place(row, index + 1));
    }),
  );
}

/** What every process may need of the machine it runs on. */
const OF_THE_MACHINE = /^(PATH|HOME|LANG|LC_\w+|TZ|TMPDIR|SSL_CERT_\w+|NODE_\w+|OTEL_\w+)$/;

/** Of our own environment, what the process reads by its list, and nothing that is meant for another. */
function inherited({ variables }: ProcessRow): Record<string, string> {
  const isForIt = ([name, value]: [string, string | undefined]) =>
    value !== undefined && (OF_THE_MACHINE.test(name) || variables.includes(name));
  return Object.fromEntries(Object.entries(process.env).filter(isForIt)) as Record<string, string>;
}

/** What only one kind of process is told. */
async function variablesByName(options: StackOptions): Promise<Record<ProcessName, Record<string, string>>> {
  const { actorKeyRing = generateActorKeyRing(), administrator, redisUrl } = options;
  const SUPPRESSION_KEY = options.suppressionKey ?? randomBytes(32).toString("base64");
  const contactPort = String(await freePort());
  const webhookPort = String(await freePort());
  const CONTACT_ADDRESS = `127.0.0.1:${contactPort}`;
  const WEBHOOK_ADDRESS = `127.0.0.1:${webhookPort}`;
  return {
    contact: {
      GRPC_PORT: contactPort,
      ACTOR_PUBLIC_KEYS: trustedKeys(actorKeyRing, ["gateway", "webhook"]),
      SUPPRESSION_KEY,
    },
    webhook: {
      GRPC_PORT: webhookPort,
      CONTACT_ADDRESS,
      ACTOR_PUBLIC_KEYS: trustedKeys(actorKeyRing, ["gateway"]),
      ACTOR_PRIVATE_KEY: actorKeyRing.webhook.privateKey,
      WEBHOOK_SECRET_KEYS: options.webhookSecretKey ?? generateSecretKey(),
    },
    gateway: {
      CONTACT_ADDRESS,
      WEBHOOK_ADDRESS,
      ACTOR_PRIVATE_KEY: actorKeyRing.gateway.privateKey,
      REDIS_URL: redisUrl ?? "",
      ADMIN_USERNAME: administrator?.username ?? "",
      ADMIN_PASSWORD: administrator?.password ?? "",
      API_ENABLE_BASIC_AUTH: "true",
    },
  };
}
