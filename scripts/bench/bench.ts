import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { generateSecretKey } from "@tidings/secrets/secret-box";
import { Client } from "pg";
import { processes } from "../processes.ts";
import { onStopSignal } from "../stop-signal.ts";
import { measureCampaignMembers } from "./campaign-members.ts";
import { compare } from "./compare.ts";
import { measureDeliveryLatency } from "./delivery-latency.ts";
import { measureHeaderCosts } from "./header-cost.ts";
import { measureListLatency } from "./list-latency.ts";
import { loadContacts, THROUGH_API_MAX } from "./load-contacts.ts";
import { loadResources } from "./load-resources.ts";
import type { Target } from "./measure.ts";
import { type BenchOptions, readOptions } from "./options.ts";
import { measurePublicWeb, PUBLIC_ROWS, UNLIMITED } from "./public/measure-public-web.ts";
import { openPublicWeb } from "./public/public-web.ts";
import { measureRawBatch } from "./raw-batch.ts";
import { changes, type KeptResult, readKept } from "./regressions.ts";
import {
  type Line,
  printCampaignMembers,
  printChanges,
  printHeader,
  printHeaderCosts,
  printLatency,
  printLine,
  printListLatencies,
  printSegments,
  printSerialParts,
  printSignInCosts,
  printTelemetryCosts,
  surroundings,
  writeResult,
} from "./report.ts";
import { resourceWorkloads, wantedResources } from "./resource-workloads.ts";
import { measureSegmentBuilds, measureSegmentReaction } from "./segment-speed.ts";
import { measureSending, SENDING_ROWS, sendingTo } from "./sending/measure-sending.ts";
import { type Sink, startSink } from "./sending/start-sink.ts";
import { measureSerialParts } from "./serial.ts";
import { measureSignInCost, type WaysIn, waysIn } from "./sign-in-cost.ts";
import { type BareServer, startBareServer } from "./start-bare-server.ts";
import { measureTelemetryCost } from "./telemetry-cost.ts";
import { startTemporaryStack, type TemporaryStack } from "./temporary-stack.ts";
import { workloads } from "./workloads.ts";

/** The process that sends mails where it is a process of its own. */
const SENDER = "content-2";
const RESULT_FILE = join(import.meta.dirname, "../../bench-result.json");

interface Bench {
  options: BenchOptions;
  own: TemporaryStack;
  ours: Target;
  ways: WaysIn;
  /** Takes the mails; there is one where sending is measured. */
  sink: Sink | undefined;
  publicTokenKey: string;
  /** Whether `--only` names it, or names nothing. */
  isWanted(name: string): boolean;
}

let starting: Promise<TemporaryStack> | undefined;
let bareServer: BareServer | undefined;
let sink: Sink | undefined;
const stopAll = async () => {
  await bareServer?.stop();
  const own = await starting?.catch(() => undefined); // its starter reports it
  await own?.stop();
  await sink?.stop();
};
onStopSignal({
  async stop() {
    await stopAll();
    process.exit(130);
  },
  kill: () => undefined, // every child ends with this process
});
process.exit(await runBench());

async function runBench(): Promise<number> {
  try {
    const options = readOptions(process.argv.slice(2));
    if (options.measuresTelemetry) printTelemetryCosts(await measureTelemetryCost(options.seconds));
    else await bench(options);
    return 0;
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    return 1;
  } finally {
    await stopAll();
  }
}

async function bench(options: BenchOptions): Promise<void> {
  const startedAt = performance.now();
  const kept = options.comparedWith === undefined ? undefined : readKept(options.comparedWith);
  console.log(`Starting, and loading ${options.contacts} contacts ...`);
  const ways = await waysIn();
  const isWanted = wanted(options);
  const publicTokenKey = generateSecretKey();
  if (SENDING_ROWS.some(isWanted)) sink = await startSink();
  const { actorKeyRing } = ways;
  const replicas = options.areSendersApart ? { content: 2 } : {};
  starting = startTemporaryStack({
    env: stackEnv(options, ways, sink),
    replicas,
    actorKeyRing,
    publicTokenKey,
    buffers: options.buffers,
  });
  const own = await starting;
  const bench: Bench = { options, own, ours: ourTarget(own, options), ways, sink, publicTokenKey, isWanted };
  const about = await load(bench);
  printHeader(about);
  // Webhooks while the data is still as it was loaded.
  const latencies = bench.isWanted("webhook") ? await measureDeliveryLatency(bench.ours, options) : [];
  const lines = await measureWorkloads(bench);
  for (const latency of latencies) printLatency(latency);
  const rest = await measureTheRest(bench);
  const { lines: publicLines, ...last } = await measurePublic(bench);
  lines.push(...publicLines);
  writeResult(RESULT_FILE, about, lines, { latencies, ...rest, ...last });
  const worse = kept ? countWorse(options.comparedWith ?? "", kept, lines) : 0;
  console.log(`\n${((performance.now() - startedAt) / 1000).toFixed(0)} s in all; also in bench-result.json`);
  if (worse > 0) throw new Error(`${worse} lines take more CPU than before, by more than their noise.`);
}

function wanted({ only }: BenchOptions): Bench["isWanted"] {
  return (name) => only.length === 0 || only.some((beginning) => name.startsWith(beginning));
}

/** Loads the data and starts the bare server. */
async function load({ options, own, ours, isWanted }: Bench) {
  const { url } = own.postgres;
  const { contacts, seconds, buffers } = options;
  const loadSeconds = await loadContacts(ours, url, contacts);
  await loadResources(ours, url, wantedResources(isWanted));
  bareServer = await startBareServer("bare-server.ts", { DATABASE_URL: url });
  return surroundings({
    postgres: await postgresVersion(url),
    buffers,
    contacts,
    loaded: Math.min(contacts, THROUGH_API_MAX),
    loadSeconds,
    secondsPerRound: seconds,
  });
}

/** Each workload beside the bare server. */
async function measureWorkloads({ options, own, ours, isWanted }: Bench): Promise<Line[]> {
  const { pid, url } = own.postgres;
  if (!bareServer) throw new Error("the bare server is not started");
  const bare: Target = { url: bareServer.url, headers: {}, pids: [bareServer.pid, pid] };
  const lines: Line[] = [];
  const add = (line: Line) => {
    printLine(line);
    lines.push(line);
  };
  for (const workload of [...workloads, ...resourceWorkloads].filter(({ name }) => isWanted(name))) {
    const { name, title, goal, spreadGoal } = workload;
    const comparison = await compare(workload, { ours, bare }, options);
    add({ name, title, goal, ...(spreadGoal && { spreadGoal }), ...comparison });
    if (name !== "batch") continue;
    const raw = await measureRawBatch(url, [pid], options.seconds);
    add({
      name: "batch-sql",
      title: "the same / raw SQL, no answer",
      goal,
      ours: comparison.ours,
      bare: raw,
      ratio: comparison.ours.requestsPerSecond / raw.requestsPerSecond,
      costs: comparison.costs.map((cost) => (cost * comparison.bare.cpu) / raw.cpu),
    });
  }
  return lines;
}

/** All but the workloads of the bare server. Each is printed as soon as it is measured. */
async function measureTheRest({ options, own, ours, ways, isWanted }: Bench) {
  const { url } = own.postgres;
  const costs = isWanted("auth") ? await measureSignInCost(ours, own, ways, options) : [];
  if (costs.length > 0) printSignInCosts(costs);
  const headers = isWanted("headers") ? await measureHeaderCosts(ours, options) : [];
  if (headers.length > 0) printHeaderCosts(headers);
  const lists = isWanted("list") ? await measureListLatency(ours, url, options) : [];
  if (lists.length > 0) printListLatencies(lists);
  const segments = isWanted("segment") ? await measureSegments(ours, url) : undefined;
  const members = isWanted("members") ? await measureCampaignMembers(ours, url) : [];
  if (members.length > 0) printCampaignMembers(members);
  const serial = isWanted("serial") ? await measureSerialParts(ours, own) : [];
  if (serial.length > 0) printSerialParts(serial);
  return { costs, headers, lists, ...segments, members, serial };
}

/** The public web, and sending, of which the way back leads there. They empty and fill tables, so they are the last. */
async function measurePublic(bench: Bench) {
  const { own, ours, options, sink, isWanted } = bench;
  const hasPublicRows = PUBLIC_ROWS.some(isWanted);
  if (!hasPublicRows && !sink) return { lines: [] };
  const web = await openPublicWeb(own, ours, options.contacts);
  try {
    const measured = hasPublicRows ? await measurePublicWeb({ ...bench, web }) : undefined;
    const sending = sink && (await measureSending({ ...bench, web, sink }));
    return {
      lines: measured?.lines ?? [],
      ...(measured && { publicWeb: measured.rest }),
      ...(sending && { sending }),
    };
  } finally {
    await web.close();
  }
}

/** How many lines have become worse. */
function countWorse(path: string, kept: KeptResult, lines: Line[]): number {
  const all = changes(kept.lines, lines);
  printChanges(path, kept, all);
  return all.filter(({ verdict }) => verdict === "worse").length;
}

async function measureSegments(target: Target, databaseUrl: string) {
  const builds = await measureSegmentBuilds(target, databaseUrl);
  const reaction = await measureSegmentReaction(target, databaseUrl);
  printSegments(builds, reaction);
  return { builds, reaction };
}

function ourTarget(
  { stack, baseUrl, password, postgres, natsPid }: TemporaryStack,
  { areSendersApart }: BenchOptions,
): Target {
  const authorization = `Basic ${Buffer.from(`admin:${password}`).toString("base64")}`;
  const names: string[] = processes.map(({ name }) => name);
  const pids = [...names, ...(areSendersApart ? [SENDER] : [])].map((name) => stack.process(name).pid);
  return { url: baseUrl, headers: { authorization }, pids: [...pids, natsPid, postgres.pid] };
}

/** The environment of the processes: receivers on this machine, the ways to each other, and a CPU profile if asked for. */
function stackEnv(
  { profiled, areSendersApart }: BenchOptions,
  { contactPort, addresses }: WaysIn,
  sink: Sink | undefined,
) {
  const env: Record<string, Record<string, string>> = {
    webhook: { OUTBOUND_ALLOW_CIDRS: "127.0.0.0/8", ...addresses },
    contact: { GRPC_PORT: String(contactPort) },
    content: {
      ...{ ...addresses, ...UNLIMITED.content, ...(sink && sendingTo(sink)) },
      CONTENT_ROLE: areSendersApart ? "serve" : "all",
    },
    [SENDER]: { CONTENT_ROLE: "send" },
    campaign: addresses,
    gateway: { ...addresses, ...UNLIMITED.gateway, IDEMPOTENCY_KEYS_PER_MINUTE: "1000000" },
  };
  if (profiled) {
    const folder = mkdtempSync(join(tmpdir(), "tidings-profile-"));
    console.log(`The CPU profile of ${profiled} will be in ${folder}`);
    env[profiled] = { ...env[profiled], NODE_OPTIONS: `--cpu-prof --cpu-prof-dir=${folder}` };
  }
  return env;
}

async function postgresVersion(url: string): Promise<string> {
  const client = new Client({ connectionString: url });
  await client.connect();
  const { rows } = await client.query("show server_version");
  await client.end();
  return rows[0].server_version;
}
