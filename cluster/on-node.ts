import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { programs } from "@tidings/scripts/bundle";
import { storeImages } from "@tidings/scripts/store-images";
import { listen } from "./accounts.ts";
import { createApi } from "./api.ts";
import { failure } from "./failure.ts";
import { TAGS } from "./images.ts";
import { apply, kubectl } from "./kubectl.ts";
import { output } from "./machine.ts";
import { startMailServer } from "./mail-server.ts";
import { serveMetrics } from "./metrics.ts";
import { say } from "./progress.ts";
import { ADMINISTRATOR, gatewayUrl, install, profile, smoke } from "./release.ts";
import type { Outcome, Step, StepName, World } from "./step.ts";
import { nodeSteps } from "./steps/node.ts";
import { podSteps } from "./steps/pods.ts";
import { policySteps } from "./steps/policies.ts";
import { tryProfiles } from "./steps/profiles.ts";
import { releases } from "./steps/releases.ts";
import { rotateSteps } from "./steps/rotate.ts";
import { scaleSteps } from "./steps/scale.ts";
import { senderSteps } from "./steps/senders.ts";
import { summaryOf } from "./summary.ts";

/** Options that `test.ts` passes to the process that it starts on the node. */
export interface OnNodeOptions {
  /** The folder of the cluster. */
  folder: string;
  /** Images to import: those of the product and those around it. */
  archives: string[];
  /** The steps that are wanted. */
  only: StepName[];
}

const steps: Step[] = [
  ...releases,
  ...podSteps,
  ...nodeSteps,
  ...scaleSteps,
  ...rotateSteps,
  ...policySteps,
  ...senderSteps,
];
/** Two of each process, certificates, and nobody reaches what they have no business with. */
const INSTALLATION = {
  values: [profile("networkpolicy"), profile("mtls"), join(import.meta.dirname, "values/load.yaml")],
  tag: TAGS.present,
};

const options: OnNodeOptions = JSON.parse(process.argv[2] ?? "");
process.exit(await run(options));

async function run({ folder, archives, only }: OnNodeOptions): Promise<number> {
  await prepare(folder, archives);
  const outcomes: Outcome[] = only.includes("profiles") ? await tryProfiles(INSTALLATION.tag) : [];
  const wanted = steps.filter(({ name }) => only.includes(name));
  if (wanted.length > 0) outcomes.push(...(await runSteps(wanted)));
  console.log(`\n${summaryOf(outcomes)}\n`);
  const failed = outcomes.filter(({ ok }) => !ok).length;
  say(failed === 0 ? "all as promised" : `${failed} of ${outcomes.length} not as promised`);
  return failed === 0 ? 0 : 1;
}

async function prepare(folder: string, archives: string[]): Promise<void> {
  say("importing images");
  const ctr = (...args: string[]) => output("ctr", ["--namespace=k8s.io", "images", ...args]);
  for (const archive of archives) await ctr("import", "--snapshotter=overlayfs", archive);
  for (const { name } of programs)
    await ctr(
      "tag",
      "--force",
      ...[TAGS.present, TAGS.other].map((tag) => `docker.io/library/tidings-${name}:${tag}`),
    );
  // The trial images stand in for those that the chart names, which no registry is asked for.
  for (const [name, image] of Object.entries(storeImages()))
    await ctr("tag", "--force", `docker.io/library/tidings-trial-${name}:${TAGS.present}`, image);
  await serveMetrics(folder);
  await apply(await readFile(join(folder, "etc/base.yaml"), "utf8"));
  await kubectl("--namespace=kube-system", "rollout", "status", "deployment/coredns", "--timeout=60s");
  say("the cluster is ready");
}

async function runSteps(wanted: Step[]): Promise<Outcome[]> {
  const what = "install, two of each process";
  const mailServer = await startMailServer();
  const startedAt = performance.now();
  try {
    await install(INSTALLATION);
  } catch (error) {
    return [await failure(what, error as Error)];
  }
  const seconds = (performance.now() - startedAt) / 1000;
  await smoke();
  say(`installed in ${seconds.toFixed(1)} s, and its own test passed`);
  const baseUrl = await gatewayUrl();
  const api = createApi(baseUrl, { login: ADMINISTRATOR, keepAlive: false });
  const listener = await listen(api);
  const world: World = { installation: INSTALLATION, baseUrl, api, listener, mailServer };
  const outcomes: Outcome[] = [{ ok: true, what, seconds }];
  for (const { name, run } of wanted) {
    say(`step ${name}`);
    outcomes.push(...(await run(world).catch(async (error) => [await failure(name, error)])));
  }
  await listener.stop();
  await mailServer.close();
  return outcomes;
}
