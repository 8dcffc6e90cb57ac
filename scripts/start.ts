import { randomBytes } from "node:crypto";
import { join, relative } from "node:path";
import { jetstreamAnswers } from "@tidings/bus/jetstream-answers";
import { isFree } from "@tidings/embedded/free-port";
import { startNats } from "@tidings/embedded/nats";
import { startPostgres } from "@tidings/embedded/postgres";
import { bundlePrograms } from "./bundle.ts";
import { lockDataDir } from "./data-lock.ts";
import { logToFiles } from "./log-files.ts";
import { readSecrets, type Secrets, writeSecrets } from "./secrets.ts";
import { type Stack, startStack } from "./stack.ts";
import { readStartConfig, type StartConfig } from "./start-config.ts";
import { onStopSignal } from "./stop-signal.ts";
import { superviseServer } from "./supervised-server.ts";
import { welcomeText } from "./welcome.ts";

const ADMINISTRATOR = "admin";

const stopped = new AbortController();
/** How to stop the servers that were started, and what else was taken. */
const stops: (() => Promise<void> | void)[] = [];
let stack: Stack | undefined;

const started = start();
onStopSignal({
  async stop() {
    console.log("\nStopping ...");
    stopped.abort();
    await started.catch(() => undefined); // reported below, unless it failed because of the stop
    await stopAll();
    process.exit(0);
  },
  kill() {
    stack?.kill();
    for (const stop of stops) void stop(); // the signal is sent at once
  },
});
await started.catch(async (error: Error) => {
  if (stopped.signal.aborted) return;
  console.error(error.message);
  await stopAll();
  process.exit(1);
});

/** Starts whatever the environment does not name, and the product on top of it. */
async function start(): Promise<void> {
  const config = readStartConfig(process.env);
  stops.push(lockDataDir(config.DATA_DIR));
  if (!(await isFree(config.PORT))) {
    throw new Error(`Port ${config.PORT} is in use. Choose another: PORT=${config.PORT + 1} npm start`);
  }
  console.log("Starting Tidings ...");
  const bundled = bundlePrograms();
  bundled.catch(() => undefined); // awaited below
  const secretsFile = join(config.DATA_DIR, "secrets.json");
  const secrets = readSecrets(secretsFile);
  const adminUrl = await databaseUrl(config);
  stopped.signal.throwIfAborted();
  const natsUrl = await busUrl(config);
  stopped.signal.throwIfAborted();

  const password = administratorPassword(config, secrets);
  const logs = join(config.DATA_DIR, "logs");
  const mails = join(config.DATA_DIR, "mail");
  // Browsers find every name below localhost on this machine (RFC 6761, 6.3).
  const publicUrl = config.PUBLIC_URL ?? `http://web.localhost:${config.PORT}`;
  await bundled;
  stack = await startStack({
    database: { adminUrl, rolePassword: secrets.rolePassword },
    natsUrl,
    redisUrl: config.REDIS_URL,
    port: config.PORT,
    actorKeyRing: secrets.actorKeyRing,
    suppressionKey: secrets.suppressionKey,
    webhookSecretKey: secrets.webhookSecretKey,
    contentSecretKey: secrets.contentSecretKey,
    publicTokenKey: secrets.publicTokenKey,
    administrator: { username: ADMINISTRATOR, password },
    publicUrl,
    filesDir: join(config.DATA_DIR, "files"),
    env: { content: { MAIL_URL: config.MAIL_URL ?? `file:${mails}`, MAIL_FROM: config.MAIL_FROM } },
    log: logToFiles(logs),
  });
  stopped.signal.throwIfAborted();
  writeSecrets(secretsFile, { ...secrets, hasAdministrator: true });
  const source = config.ADMIN_PASSWORD ? "given" : password ? { generated: password } : "set before";
  console.log(
    welcomeText({
      port: config.PORT,
      publicUrl,
      username: ADMINISTRATOR,
      password: source,
      logs: relative(process.cwd(), logs),
      ...(!config.MAIL_URL && { mails: relative(process.cwd(), mails) }),
    }),
  );
}

/** Undefined when the administrator has one already. */
function administratorPassword(config: StartConfig, secrets: Secrets): string | undefined {
  return (
    config.ADMIN_PASSWORD ?? (secrets.hasAdministrator ? undefined : randomBytes(12).toString("base64url"))
  );
}

async function databaseUrl(config: StartConfig): Promise<string> {
  if (config.DATABASE_URL) return config.DATABASE_URL;
  const server = await startPostgres({ dataDir: join(config.DATA_DIR, "postgres") });
  stops.push(superviseServer({ name: "postgres", server, tell: console.error }).stop);
  return server.url;
}

async function busUrl(config: StartConfig): Promise<string> {
  if (config.NATS_URL) return config.NATS_URL;
  const server = await startNats({ dataDir: join(config.DATA_DIR, "nats") });
  const isWell = () => jetstreamAnswers(server.url);
  stops.push(superviseServer({ name: "nats-server", server, isWell, tell: console.error }).stop);
  return server.url;
}

/** The product first, then the servers it needs, the lock last. */
async function stopAll(): Promise<void> {
  await stack?.stop();
  for (const stop of stops.reverse()) await stop();
}
