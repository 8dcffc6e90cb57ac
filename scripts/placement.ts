import { randomBytes } from "node:crypto";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "@tidings/embedded/free-port";
import { variableOf } from "@tidings/runtime/config";
import { generateSecretKey } from "@tidings/secrets/secret-box";
import { generateActorKeyRing, trustedKeys } from "./actor-keys.ts";
import { type ProcessName, type ProcessRow, processes } from "./processes.ts";
import type { StackOptions } from "./stack.ts";

/** A process to run: `contact`, `gateway`, and `gateway-2` and so on when there are more. Only the first is called by the others. */
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
  const ring = options.actorKeyRing ?? generateActorKeyRing();
  const grpcPorts = new Map(
    await Promise.all(processes.map(async ({ name }) => [name, String(await freePort())] as const)),
  );
  const contents = options.replicas?.content ?? 1;
  const webPorts = await Promise.all(Array.from({ length: contents }, async () => String(await freePort())));
  const firstPort = options.port || (await freePort());
  const everybodys = {
    ...addresses(grpcPorts),
    ...secretsOf(options),
    PUBLIC_URL: options.publicUrl ?? `http://localhost:${firstPort}`,
    FILES_DIR: options.filesDir ?? join(tmpdir(), `tidings-files-${randomBytes(6).toString("hex")}`),
  };
  const place = async (row: ProcessRow, number: number): Promise<Placement> => ({
    row,
    name: nameOf(row, number),
    env: {
      ...inherited(row),
      ...readBy(row, {
        ...everybodys,
        DATABASE_URL: databaseUrls[row.schema] ?? "",
        NATS_URL: options.natsUrl,
        REDIS_URL: options.redisUrl ?? "",
        WEB_PORT: webPorts[number - 1] ?? "",
        CONTENT_WEB_ADDRESS: `127.0.0.1:${webPorts[(number - 1) % webPorts.length]}`,
        GRPC_PORT: (number === 1 && grpcPorts.get(row.name)) || String(await freePort()),
        OPS_PORT: String(await freePort()),
        PORT: String(number === 1 ? firstPort : await freePort()),
        INTERNAL_ADDRESS: "127.0.0.1",
        // Nothing stands before these processes that would have to notice.
        SHUTDOWN_DELAY_MS: "0",
        ACTOR_PUBLIC_KEYS: trustedKeys(ring, row.callers),
        ACTOR_PRIVATE_KEY: ring[row.name].privateKey,
        API_ENABLE_BASIC_AUTH: "true",
      }),
      // Without a host of its own, the public web has its paths beside the API.
      ...(row.name === "gateway" && { PUBLIC_URL: options.publicUrl ?? "" }),
      ...options.env?.[row.name],
      ...(number > 1 && options.env?.[`${row.name}-${number}`]),
    },
  });
  return Promise.all(
    processes.flatMap((row) => {
      const count = options.replicas?.[row.name] ?? 1;
      return Array.from({ length: count }, (_, index) => place(row, index + 1));
    }),
  );
}

function nameOf({ name }: ProcessRow, number: number): string {
  return number === 1 ? name : `${name}-${number}`;
}

/** Variables that every process may need of the machine it runs on. */
const OF_THE_MACHINE = /^(PATH|HOME|LANG|LC_\w+|TZ|TMPDIR|SSL_CERT_\w+|NODE_\w+|OTEL_\w+)$/;

/** The part of our own environment that the process reads by its list, and nothing that is meant for another. */
function inherited({ variables }: ProcessRow): Record<string, string> {
  const isForIt = ([name, value]: [string, string | undefined]) =>
    value !== undefined && (OF_THE_MACHINE.test(name) || variables.includes(name));
  return Object.fromEntries(Object.entries(process.env).filter(isForIt)) as Record<string, string>;
}

/** A process gets only variables that it reads. */
function readBy({ variables }: ProcessRow, env: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(env).filter(([name]) => variables.includes(name)));
}

/** Where each process is called: `CONTACT_ADDRESS` and so on. */
function addresses(grpcPorts: Map<ProcessName, string>): Record<string, string> {
  return Object.fromEntries(
    processes.map(({ name, schema }) => [variableOf(schema), `127.0.0.1:${grpcPorts.get(name)}`]),
  );
}

function secretsOf({
  suppressionKey,
  webhookSecretKey,
  contentSecretKey,
  publicTokenKey,
  administrator,
}: StackOptions): Record<string, string> {
  return {
    SUPPRESSION_KEY: suppressionKey ?? randomBytes(32).toString("base64"),
    WEBHOOK_SECRET_KEYS: webhookSecretKey ?? generateSecretKey(),
    CONTENT_SECRET_KEYS: contentSecretKey ?? generateSecretKey(),
    PUBLIC_TOKEN_KEYS: publicTokenKey ?? generateSecretKey(),
    ADMIN_USERNAME: administrator?.username ?? "",
    ADMIN_PASSWORD: administrator?.password ?? "",
  };
}
