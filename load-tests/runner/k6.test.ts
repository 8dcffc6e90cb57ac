import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { before, describe, type TestContext, test } from "node:test";
import { promisify } from "node:util";
import { temporaryFolder } from "@tidings/testkit/temporary-folder";
import { bundleScripts } from "./bundle-scripts.ts";
import { k6Program, SCRIPT, startK6 } from "./k6.ts";
import { PROFILES } from "./options.ts";
import { type Behaviour, startStandIn } from "./stand-in.ts";

const THRESHOLD_FAILED = 99;
const SECONDS = "3";
const journeys = readdirSync(join(import.meta.dirname, "../k6/journeys")).map((file) =>
  file.replace(".ts", ""),
);

let program: string;
before(async () => {
  program = await k6Program();
});

interface Inspected {
  scenarios: Record<string, { executor: string }>;
  thresholds: Record<string, unknown>;
}

async function inspect(script: string, env: Record<string, string>): Promise<Inspected> {
  const told = Object.entries(env).flatMap(([name, value]) => ["--env", `${name}=${value}`]);
  const { stdout } = await promisify(execFile)(program, [
    "inspect",
    "--execution-requirements",
    ...told,
    script,
  ]);
  return JSON.parse(stdout);
}

for (const profile of PROFILES) {
  test(`${profile}: k6 takes every journey, at a rate that slow answers do not lower`, async () => {
    const { scenarios, thresholds } = await inspect(SCRIPT, { PROFILE: profile });
    assert.deepEqual(Object.keys(scenarios).sort(), journeys.toSorted());
    for (const { executor } of Object.values(scenarios)) assert.match(executor, /-arrival-rate$/);
    assert.ok("http_req_duration{name:GET /contacts/:id}" in thresholds);
  });
}

test("the bundle for a cluster is the same to k6, and one journey may be chosen", async (t) => {
  const { path, remove } = await temporaryFolder();
  t.after(remove);
  const { script } = await bundleScripts(path);
  const env = { PROFILE: "load", JOURNEY: "contact-lists" };
  const bundled = await inspect(script, env);
  assert.deepEqual(Object.keys(bundled.scenarios), ["contact-lists"]);
  assert.deepEqual(bundled, await inspect(SCRIPT, env));
});

describe("a run", { concurrency: true }, () => {
  test("a run against a product that answers well passes, leaves a report, and removes its contacts", async (t) => {
    const { code, result, report, requests } = await runAgainst(t, "smoke", {});
    assert.deepEqual([code, result.failures], [0, []]);
    assert.match(report, /Every threshold was kept/);
    assert.deepEqual(requests.slice(-1), ["POST /credentials/7/delete"]);
    assert.ok(requests.includes("DELETE /api/contacts/batch/delete"));
  });

  test("fails when answers are errors", async (t) => {
    const { code, result } = await runAgainst(t, "smoke", { listStatus: 500 });
    assert.equal(code, THRESHOLD_FAILED);
    assert.ok(result.failures.includes("http_req_failed{name:GET /contacts}: rate<=0"), `${result.failures}`);
  });

  test("fails when answers are late, though all are right", async (t) => {
    const { code, result } = await runAgainst(t, "load", { listDelayMs: 300 });
    assert.equal(code, THRESHOLD_FAILED);
    assert.ok(
      result.failures.includes("http_req_duration{name:GET /contacts}: p(95)<200"),
      `${result.failures}`,
    );
    assert.equal(result.checksFailed, 0);
  });
});

/** Runs a profile for a moment, of one journey. */
async function runAgainst(t: TestContext, profile: string, behaviour: Behaviour) {
  const standIn = await startStandIn(behaviour);
  t.after(standIn.stop);
  const { path, remove } = await temporaryFolder();
  t.after(remove);
  const RESULT = join(path, profile);
  const env = { BASE_URL: standIn.url, PROFILE: profile, JOURNEY: "contact-lists", SECONDS, RESULT };
  const code = await startK6(program, env, "ignore").exitCode;
  const result = JSON.parse(readFileSync(`${RESULT}.json`, "utf8"));
  return { code, result, report: readFileSync(`${RESULT}.md`, "utf8"), requests: standIn.requests };
}
