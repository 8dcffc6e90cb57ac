import type { ActorKeyRing } from "./actor-keys.ts";
import { bundleOf } from "./bundle.ts";
import { SENDER } from "./deployments.ts";
import { SENDER_EXEC_ARGV } from "./memory.ts";
import { migrateSchemas } from "./migrate-schemas.ts";
import { placeProcesses } from "./placement.ts";
import { type ProcessName, type ProcessRow, processes } from "./processes.ts";
import { rolePasswordOf } from "./secrets.ts";
import { type LogSink, type SupervisedProcess, superviseProcess } from "./supervised-process.ts";

/** A database to migrate, with what the roles' passwords are made of, or one that is migrated and the URL of each role. */
export type StackDatabase =
  | { adminUrl: string; rolePassword: string; rolePrefix?: string }
  | { url(schema: string): string };

export interface StackOptions {
  database: StackDatabase;
  natsUrl: string;
  redisUrl?: string | undefined;
  /** The port of the first gateway; a free one when absent, as for all the others. */
  port?: number;
  /**
   * How many there are of a kind of process, 1 when absent. The others call the first, but each gateway passes visitors to a content
   * service of its own, as far as there are some.
   */
  replicas?: Partial<Record<ProcessName, number>>;
  /** Made for this stack when absent. */
  actorKeyRing?: ActorKeyRing;
  /** Likewise. */
  suppressionKey?: string;
  /** Likewise. */
  webhookSecretKey?: string;
  contentSecretKey?: string;
  publicTokenKey?: string;
  /** Where people find what is published, on a host of its own; the first gateway beside the API when absent. */
  publicUrl?: string | undefined;
  /** Where uploads are kept; a new folder when absent, which is made with the first of them. */
  filesDir?: string;
  /** Created or updated at the start; no administrator is touched without a password. */
  administrator?: { username: string; password?: string | undefined };
  /** Variables for one kind of process, over those the stack sets. */
  env?: Partial<Record<ProcessName | `${ProcessName}-${number}`, Record<string, string>>>;
  /** Gets every line the processes write. Not kept when absent. */
  log?: LogSink;
}

export interface Gateway extends SupervisedProcess {
  baseUrl: string;
}

export interface Stack {
  /** The URL of the first gateway. */
  baseUrl: string;
  gateways: Gateway[];
  /** `contact`, `webhook`, `gateway`; further gateways are `gateway-2` and so on. */
  process(name: string): SupervisedProcess;
  /** Stops the gateways first, then the services. */
  stop(): Promise<void>;
  /** Ends every process at once. */
  kill(): void;
}

const nowhere: LogSink = () => undefined;

/** Migrates the database and runs every process of the product, from its bundle, against it. Done when all are ready. */
export async function startStack(options: StackOptions): Promise<Stack> {
  const placements = await placeProcesses(options, await databaseUrls(options.database));
  const starts = placements.map(async ({ row, name, env }) => {
    const entry = bundleOf(row.entry);
    const execArgv = isSender(row, env) ? SENDER_EXEC_ARGV : undefined;
    const supervised = await superviseProcess({ name, entry, env, execArgv, log: options.log ?? nowhere });
    return Object.assign(supervised, { baseUrl: `http://127.0.0.1:${env.PORT}` });
  });
  const running = (await Promise.allSettled(starts))
    .filter((start) => start.status === "fulfilled")
    .map((start) => start.value);
  const gateways = running.filter(({ name }) => name.startsWith("gateway"));
  const services = running.filter((member) => !gateways.includes(member));

  const stop = async () => {
    await Promise.all(gateways.map((gateway) => gateway.stop()));
    for (const service of services.toReversed()) await service.stop();
  };
  await Promise.all(starts).catch(async (error) => {
    await stop();
    throw error;
  });

  return {
    baseUrl: gateways[0]?.baseUrl ?? "",
    gateways,
    process(name) {
      const found = running.find((member) => member.name === name);
      if (!found) throw new Error(`The stack has no process ${name}`);
      return found;
    },
    stop,
    kill: () => {
      for (const member of running) member.kill("SIGKILL");
    },
  };
}

/** Content sends, too, unless it is said to serve alone. */
function isSender({ name }: ProcessRow, { CONTENT_ROLE: role }: Record<string, string>): boolean {
  return name === SENDER.process && role !== "serve";
}

/** The URL of every schema's own role, migrated first where that is our task. */
async function databaseUrls(database: StackDatabase): Promise<Record<string, string>> {
  if ("url" in database)
    return Object.fromEntries(processes.map(({ schema }) => [schema, database.url(schema)]));
  const { adminUrl, rolePassword, rolePrefix } = database;
  const passwordOf = (schema: string) => rolePasswordOf(rolePassword, schema);
  const migrated = await migrateSchemas({ adminUrl, rolePrefix, passwordOf });
  return Object.fromEntries(migrated.map(({ schema, url }) => [schema, url]));
}
