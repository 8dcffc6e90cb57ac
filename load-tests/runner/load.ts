import { appendFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { type Memory, recordMemory } from "@tidings/scripts/bench/resident-memory";
import { startTemporaryStack, type TemporaryStack } from "@tidings/scripts/bench/temporary-stack";
import { processes } from "@tidings/scripts/processes";
import { onStopSignal } from "@tidings/scripts/stop-signal";
import { UNLIMITED_VISITORS } from "@tidings/scripts/unlimited-visitors";
import { type ReceiverServer, startReceiverServer } from "../receiver/receiver.ts";
import { bundleScripts } from "./bundle-scripts.ts";
import { type K6Run, k6Program, startK6 } from "./k6.ts";
import { memoryReport } from "./memory-report.ts";
import { type LoadOptions, readOptions } from "./options.ts";
import { type Surroundings, surroundings, surroundingsReport } from "./surroundings.ts";

/** k6's code for a script that could not run; a run of ours that could not begin is the same to who asks. */
const COULD_NOT_RUN = 107;
const STOPPED = 105;
/** Where mails of a product that runs already are taken. */
const MAIL_PORT = 2525;
const MAIL_FROM = "Shop <shop@mail.example>";

let run: K6Run | undefined;
let starting: Promise<TemporaryStack> | undefined;
let receiver: ReceiverServer | undefined;
const stopped = new AbortController();
onStopSignal({
  async stop() {
    stopped.abort();
    run?.stop();
  },
  kill: () => run?.kill(), // every other child ends with this process
});
process.exit(await main(process.argv.slice(2)));

async function main(args: string[]): Promise<number> {
  try {
    if (args.length === 1 && args[0] === "bundle") return await bundle();
    return await load(readOptions(args));
  } catch (error) {
    if (stopped.signal.aborted) return STOPPED;
    console.error(error instanceof Error ? error.message : error);
    return COULD_NOT_RUN;
  } finally {
    await receiver?.stop();
    const own = await starting?.catch(() => undefined); // logged above
    await own?.stop();
  }
}

async function bundle(): Promise<number> {
  for (const path of Object.values(await bundleScripts())) console.log(path);
  return 0;
}

/** Runs k6 and gives its exit code. */
async function load(options: LoadOptions): Promise<number> {
  const where = surroundings();
  const program = await k6Program();
  const { env, watched } = await target(options);
  const result = resolve(options.folder, options.profile);
  mkdirSync(options.folder, { recursive: true });
  for (const file of [`${result}.md`, `${result}.json`]) rmSync(file, { force: true });
  stopped.signal.throwIfAborted();
  run = startK6(program, {
    ...env,
    PROFILE: options.profile,
    JOURNEY: options.journeys.join(","),
    RATE: String(options.rate),
    SECONDS: String(options.seconds ?? 0),
    CONTACTS: String(options.contacts),
    RESULT: result,
  });
  const memory = recordMemory([...watched, { name: "k6", pid: run.pid }]);
  const code = await run.exitCode;
  const seen = memory.stop();
  if (!existsSync(`${result}.json`)) return code; // k6 did not come so far
  if (starting) addToResult(result, seen, where);
  console.log(`Also in ${join(options.folder, options.profile)}.md and .json`);
  return code;
}

interface Target {
  env: Record<string, string>;
  /** Processes whose memory is looked at. */
  watched: { name: string; readonly pid: number }[];
}

/** The product that `--url` names, with a receiver that it can reach, or one of our own. */
async function target({ url }: LoadOptions): Promise<Target> {
  const { RECEIVER_URL, ADMIN_PASSWORD } = process.env;
  if (url && !ADMIN_PASSWORD)
    throw new Error("--url needs ADMIN_PASSWORD, the password of ADMIN_USERNAME (admin).");
  receiver = RECEIVER_URL
    ? undefined
    : await startReceiverServer({
        ...{ host: "127.0.0.1", port: 0 },
        // A product that runs already was given the port before.
        mailPort: url ? MAIL_PORT : 0,
      });
  const receiverUrl = RECEIVER_URL ?? `http://127.0.0.1:${receiver?.port}`;
  if (url) return { env: { BASE_URL: url, RECEIVER_URL: receiverUrl }, watched: [] };
  console.log("Starting Postgres, NATS and Tidings in a temporary folder ...");
  starting = startTemporaryStack({
    env: {
      webhook: { OUTBOUND_ALLOW_CIDRS: "127.0.0.0/8" },
      gateway: UNLIMITED_VISITORS,
      ...(receiver && {
        content: { MAIL_URL: `smtp://127.0.0.1:${receiver.mailPort}?tls=off`, MAIL_FROM },
      }),
    },
  });
  const { stack, baseUrl, password, natsPid } = await starting;
  return {
    env: {
      ...{ BASE_URL: baseUrl, PUBLIC_URL: baseUrl, ADMIN_USERNAME: "admin", ADMIN_PASSWORD: password },
      RECEIVER_URL: receiverUrl,
    },
    watched: [...processes.map(({ name }) => stack.process(name)), { name: "nats-server", pid: natsPid }],
  };
}

/** Adds the measurements that k6 cannot make: the memory of the processes, and where they ran. */
function addToResult(path: string, memory: Memory, where: Surroundings): void {
  const result = JSON.parse(readFileSync(`${path}.json`, "utf8"));
  writeFileSync(`${path}.json`, `${JSON.stringify({ ...result, where, memory }, undefined, 1)}\n`);
  const report = memoryReport(memory.processes) + surroundingsReport(where);
  console.log(report);
  appendFileSync(`${path}.md`, report);
}
