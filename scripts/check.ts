import { existsSync, readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CHART_README, withValues } from "./chart-values.ts";
import { K6_ROUTES_FILE, k6RoutesText } from "./k6-routes.ts";
import { longFunctions } from "./long-functions.ts";
import { longLines } from "./long-lines.ts";
import { NATS_PERMISSIONS_FILE, natsPermissionsFile } from "./nats-permissions.ts";
import { NAMED_CHANGES_FILE, unnamedChanges } from "./openapi-changes.ts";
import { OPENAPI_FILE, openApiText } from "./openapi-file.ts";
import { lintOpenApi } from "./openapi-lint.ts";
import { unclearSentences } from "./plain-english.ts";
import { circlesOfImports } from "./rooms.ts";
import { README, withRoutes } from "./routes-table.ts";
import {
  generatedModules,
  handWrittenFiles,
  presentServices,
  standardServices,
} from "./standard-services.ts";
import { root, runTool, type ToolResult } from "./tool.ts";
import { WIRED_FILES } from "./wiring.ts";

const checks: Record<string, () => Promise<ToolResult>> = {
  "format and lint": () => runTool({ command: "biome", args: ["check", "--error-on-warnings", "."] }),
  types: () => runTool({ command: "tsc", args: ["--project", "."] }),
  // Scripts that k6 runs know nothing of Node.
  "types in browsers": () => runTool({ command: "tsc", args: ["--project", "tsconfig.browser.json"] }),
  "types under k6": () => runTool({ command: "tsc", args: ["--project", "load-tests/k6"] }),
  "proto lint": () => runTool({ command: "buf", args: ["lint"], cwd: "proto" }),
  "proto format": () => runTool({ command: "buf", args: ["format", "--diff", "--exit-code"], cwd: "proto" }),
  "generated code": generatedCodeIsCurrent,
  "chart's values": chartValuesAreCurrent,
  "OpenAPI file": openApiIsCurrent,
  rooms: roomsDependOneWay,
  "plain english": sentencesAreClear,
  "lines of docs": linesAreShort,
  "long functions": functionsAreShort,
};

const results = await Promise.all(
  Object.entries(checks).map(async ([name, check]) => {
    const startedAt = performance.now();
    const { ok, output } = await check();
    const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
    console.log(`${ok ? "ok    " : "FAILED"}  ${name.padEnd(17)} ${seconds.padStart(5)} s`);
    return { ok, output };
  }),
);

const failures = results.filter(({ ok }) => !ok);
for (const { output } of failures) console.log(`\n${output.trim()}`);
process.exitCode = failures.length > 0 ? 1 : 0;

async function roomsDependOneWay(): Promise<ToolResult> {
  const circles = circlesOfImports();
  return { ok: circles.length === 0, output: `Folders import each other: ${circles.join("; ")}` };
}

async function linesAreShort(): Promise<ToolResult> {
  const places = longLines();
  return {
    ok: places.length === 0,
    output: `Lines of documents above 120 characters:\n${places.join("\n")}`,
  };
}

async function functionsAreShort(): Promise<ToolResult> {
  const places = longFunctions();
  const output = `Functions above 60 lines, or files above 300:\n${places.join("\n")}`;
  return { ok: places.length === 0, output };
}

async function sentencesAreClear(): Promise<ToolResult> {
  const places = unclearSentences();
  const output = `Sentences without an actor (CONTRIBUTING, "How we write"):\n${places.join("\n")}`;
  return { ok: places.length === 0, output };
}

async function chartValuesAreCurrent(): Promise<ToolResult> {
  const readme = readFileSync(CHART_README, "utf8");
  return { ok: readme === withValues(readme), output: "Tables of the chart's README. Run: npm run generate" };
}

async function openApiIsCurrent(): Promise<ToolResult> {
  const readme = readFileSync(README, "utf8");
  if (withRoutes(readme) !== readme)
    return { ok: false, output: "Routes in README.md are not as generated. Run: npm run generate" };
  const text = openApiText();
  if (textOf(join(root, OPENAPI_FILE)) !== text)
    return { ok: false, output: `${OPENAPI_FILE} is not as generated. Run: npm run generate` };
  if (textOf(join(root, K6_ROUTES_FILE)) !== k6RoutesText())
    return { ok: false, output: `${K6_ROUTES_FILE} is not as generated. Run: npm run generate` };
  const named = readFileSync(join(root, NAMED_CHANGES_FILE), "utf8");
  const breaking = await unnamedChanges(text, named);
  const problems = [
    ...(await lintOpenApi(text)),
    ...breaking.map((change) => `Breaks clients and is not named in ${NAMED_CHANGES_FILE}: ${change}`),
  ];
  return { ok: problems.length === 0, output: problems.join("\n") };
}

async function generatedCodeIsCurrent(): Promise<ToolResult> {
  const files = await handWrittenFiles();
  const services = standardServices(files);
  const paths = new Set([...presentServices(), ...services.keys()]);
  const drifted = [...paths].filter((path) => textOf(join(root, "proto", path)) !== services.get(path));
  if (textOf(join(root, NATS_PERMISSIONS_FILE)) !== natsPermissionsFile())
    drifted.push(NATS_PERMISSIONS_FILE);
  for (const { path, wired } of WIRED_FILES) {
    const text = readFileSync(join(root, path), "utf8");
    if (wired(text) !== text) drifted.push(path);
  }
  if (drifted.length > 0)
    return { ok: false, output: `Not as generated: ${drifted.join(", ")}. Run: npm run generate` };
  const folder = await mkdtemp(join(tmpdir(), "tidings-generated-"));
  try {
    const generated = await runTool({ command: "buf", args: ["generate", "--output", folder], cwd: "proto" });
    if (!generated.ok) return generated;
    for (const [path, text] of generatedModules(files)) await writeFile(join(folder, path), text);
    const args = ["--recursive", "--brief", "gen", join(folder, "gen")];
    const { ok, output } = await runTool({ command: "diff", args, cwd: "proto" });
    return { ok, output: `${output}Run: npm run generate` };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function textOf(path: string): string | undefined {
  return existsSync(path) ? readFileSync(path, "utf8") : undefined;
}
