import { join } from "node:path";
import { freePort } from "@tidings/embedded/free-port";
import { type Nats, startNats } from "@tidings/embedded/nats";
import { generateActorKeyRing } from "@tidings/scripts/actor-keys";
import { type Stack, type StackOptions, startStack } from "@tidings/scripts/stack";
import { createTestDatabase, type TestDatabase } from "@tidings/testkit/postgres";
import { temporaryFolder } from "@tidings/testkit/temporary-folder";
import { type Client, createClient } from "./client.ts";
import { collectLines, type Lines } from "./lines.ts";

export interface TestStackOptions {
  env?: StackOptions["env"];
  replicas?: StackOptions["replicas"];
  /** Limits are counted in each gateway when absent. */
  redisUrl?: string;
  /** One that is the test's; else the stack has its own. */
  nats?: Nats;
  /** Likewise. */
  database?: TestDatabase;
  /** Keys of a test that calls services itself. */
  actorKeyRing?: NonNullable<StackOptions["actorKeyRing"]>;
  /** The public web has a host of its own; beside the API when absent. */
  hasOwnHost?: boolean;
}

export interface TestStack extends Stack {
  /** The REST API of the first gateway, as the administrator. */
  api: Client;
  database: TestDatabase;
  nats: Nats;
  /** Where NATS keeps its streams. */
  natsFolder: string;
  /** Where the content service keeps what is uploaded. */
  filesFolder: string;
  lines: Lines;
  /** Where visitors find what is published. */
  publicUrl: string;
}

export const ADMINISTRATOR = { username: "admin", password: "correct horse battery staple" };

/** Everything the product is made of, for one test file: its own database, NATS and processes. */
export async function startTestStack({
  env = {},
  replicas = {},
  redisUrl,
  nats: givenNats,
  database: givenDatabase,
  hasOwnHost = false,
  actorKeyRing = generateActorKeyRing(),
}: TestStackOptions = {}): Promise<TestStack> {
  await using cleanup = new AsyncDisposableStack();
  const folder = cleanup.adopt(await temporaryFolder(), ({ remove }) => remove());
  const natsFolder = join(folder.path, "nats");
  const filesFolder = join(folder.path, "files");
  const nats = givenNats ?? cleanup.adopt(await startNats({ dataDir: natsFolder }), ({ stop }) => stop());
  const database = givenDatabase ?? cleanup.adopt(await createTestDatabase(), ({ drop }) => drop());
  const lines = collectLines();
  const port = await freePort();
  const publicUrl = hasOwnHost ? `http://web.localhost:${port}` : undefined;
  const options = {
    port,
    publicUrl,
    database: { url: database.url },
    natsUrl: nats.url,
    redisUrl,
    filesDir: filesFolder,
    replicas,
    actorKeyRing,
    administrator: ADMINISTRATOR,
    env: { ...env, webhook: { OUTBOUND_ALLOW_CIDRS: "127.0.0.0/8", ...env.webhook } },
    log: lines.add,
  };
  const stack = cleanup.adopt(await lines.onFailure(startStack(options)), ({ stop }) => stop());
  const started = cleanup.move();
  return {
    ...stack,
    api: createClient(stack.baseUrl, ADMINISTRATOR),
    database,
    nats,
    natsFolder,
    filesFolder,
    lines,
    publicUrl: publicUrl ?? `http://localhost:${port}`,
    stop: () => started.disposeAsync(),
  };
}
