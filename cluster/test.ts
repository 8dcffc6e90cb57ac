import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { onStopSignal } from "@tidings/scripts/stop-signal";
import { type Cluster, startCluster } from "./cluster.ts";
import { imagesOfProduct, pauseImage } from "./images.ts";
import { leftOvers } from "./left-overs.ts";
import type { OnNodeOptions } from "./on-node.ts";
import { clusterProgram, isBuilt } from "./program.ts";
import { say } from "./progress.ts";
import { STEP_NAMES, type StepName } from "./step.ts";

/**
 * `npm run test:cluster`: the product on a real cluster of one node, which is brought up for it and taken away again. What it goes
 * through are the steps of `on-node.ts`, which run on the node; `-- --only upgrade,drain` takes some of them, `--hold` leaves the cluster up
 * until Ctrl-C, and `--if-built` does nothing where its program would have to be built first.
 */
const { values } = parseArgs({
  options: {
    only: { type: "string" },
    hold: { type: "boolean", default: false },
    "if-built": { type: "boolean", default: false },
  },
});

let starting: Promise<Cluster> | undefined;
const stopped = new AbortController();
onStopSignal({
  async stop() {
    stopped.abort();
    const cluster = await starting?.catch(() => undefined); // `run` throws it
    await cluster?.stop();
    process.exit(130);
  },
  kill: () => undefined, // the node ends with this process
});
process.exit(
  await run().catch((error: Error) => {
    console.error(stopped.signal.aborted ? "Stopped." : error);
    return 1;
  }),
);

async function run(): Promise<number> {
  if (values["if-built"] && !isBuilt()) {
    say("the cluster's program is not built: nothing is tested");
    return 0;
  }
  requireRoot();
  const only = wantedSteps();
  const program = await clusterProgram(say);
  say("packing images");
  const archives = [await pauseImage(), ...(await imagesOfProduct())];
  say("starting the node");
  starting = startCluster(program);
  const cluster = await starting;
  let code = 1;
  try {
    code = await onNode(cluster, { folder: cluster.folder, archives, only });
    if (values.hold) await hold(cluster);
  } finally {
    await cluster.stop();
  }
  const left = leftOvers();
  if (left.length > 0) say(`left behind: ${left.join(", ")}`);
  return code || (left.length > 0 ? 1 : 0);
}

/** Networks, mounts and control groups are for root alone. */
function requireRoot(): void {
  if (process.platform === "linux" && process.getuid?.() === 0) return;
  throw new Error("A cluster is started by root, on Linux");
}

function wantedSteps(): StepName[] {
  if (values.only === undefined) return [...STEP_NAMES];
  const wanted = values.only.split(",");
  const unknown = wanted.filter((name) => !STEP_NAMES.some((known) => known === name));
  if (unknown.length > 0)
    throw new Error(`There is no step ${unknown.join(", ")}; there are ${STEP_NAMES.join(", ")}`);
  return STEP_NAMES.filter((name) => wanted.includes(name));
}

async function onNode({ inside }: Cluster, options: OnNodeOptions): Promise<number> {
  const entry = join(import.meta.dirname, "on-node.ts");
  const { command, env } = inside([process.execPath, entry, JSON.stringify(options)]);
  const [nsenter = "", ...args] = command;
  const child = spawn(nsenter, args, { env, stdio: "inherit" });
  const [code] = await once(child, "exit");
  return code ?? 1;
}

async function hold({ inside, folder }: Cluster): Promise<void> {
  const { command } = inside(["kubectl", "get", "pods"]);
  say(
    `the cluster stays until Ctrl-C: KUBECONFIG=${folder}/kubeconfig PATH=${folder}/bin:$PATH ${command.join(" ")}`,
  );
  await once(stopped.signal, "abort");
}
