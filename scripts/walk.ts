import { readFile } from "node:fs/promises";
import { setTimeout as pause } from "node:timers/promises";
import { freePort } from "@tidings/embedded/free-port";
import { callApi } from "./bench/call-api.ts";
import { stackOfCommand } from "./bench/temporary-stack.ts";
import { bundleOf } from "./bundle.ts";
import { type Inspector, openInspector } from "./inspector.ts";
import { type ProcessName, processes } from "./processes.ts";
import { root } from "./tool.ts";

/**
 * `npm run walk -- [METHOD PATH BODY]`: the files that a request passes in each process, as V8 counts calls. A file is passed when one of
 * its functions is called between the request and its answer, in each of ten requests: what a timer does now and then is not among them, what
 * a commit wakes at once is. A `#` in the body becomes a number that differs from request to request. Without words it is the request whose
 * files docs/walks.md lists, and fails when one of these is not passed.
 */
const LIST = { file: "docs/walks.md", heading: "## A contact's first name, file by file" };
const isListed = process.argv.length === 2;
const [method = "PATCH", path = "contacts/1/edit", body = '{"firstname":"Ada #"}'] = process.argv.slice(2);
const REQUESTS = 10;
/** Before the first that counts: catalogues and statements are there then. */
const WARM_UP = 20;
/** Until what follows from the last request is done. */
const PAUSE_MS = 300;

interface Watched {
  name: ProcessName;
  inspector: Inspector;
  /** Where the text of each file begins in the bundle. */
  files: { path: string; start: number }[];
}

const ports = new Map(
  await Promise.all(processes.map(async ({ name }) => [name, await freePort()] as const)),
);
const own = stackOfCommand();
try {
  const inspected = [...ports].map(([name, port]) => [
    name,
    { NODE_OPTIONS: `--inspect=127.0.0.1:${port} --inspect-publish-uid=http` },
  ]);
  const { baseUrl, password } = await own.start({ env: Object.fromEntries(inspected) });
  const authorization = `Basic ${Buffer.from(`admin:${password}`).toString("base64")}`;
  const target = { url: baseUrl, headers: { authorization }, pids: [] };
  let count = 0;
  const send = () =>
    callApi(target, method, path, body ? JSON.parse(body.replaceAll("#", String(++count))) : undefined);
  await callApi(target, "POST", "contacts/new", { email: "ada@example.com" });
  const watched = await Promise.all(processes.map(({ name, entry }) => watch(name, entry)));
  for (let sent = 0; sent < WARM_UP; sent += 1) await send();
  const seen: Set<string>[] = [];
  for (let sent = 0; sent < REQUESTS; sent += 1) {
    await pause(PAUSE_MS);
    await Promise.all(watched.map(filesCalled));
    await send();
    seen.push(new Set((await Promise.all(watched.map(filesCalled))).flat()));
  }
  const [first = new Set<string>(), ...others] = seen;
  const passed = [...first].filter((file) => others.every((set) => set.has(file)));
  print(passed);
  if (isListed) await holdListAgainst(passed);
  for (const { inspector } of watched) inspector.close();
} finally {
  await own.stop();
}

async function watch(name: ProcessName, entry: string): Promise<Watched> {
  const bundle = await readFile(bundleOf(entry), "utf8");
  // esbuild puts the path of a file before its text.
  const files = [...bundle.matchAll(/^\/\/ (\S+\.[cm]?[jt]s)$/gm)].map(({ index, 1: path = "" }) => ({
    path,
    start: index,
  }));
  const inspector = await openInspector(ports.get(name) ?? 0);
  await inspector.call("Profiler.enable");
  await inspector.call("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
  return { name, inspector, files };
}

/** The files of this repository of which a function was called since this was asked before: `contact services/contact/src/main.ts`. */
async function filesCalled({ name, inspector, files }: Watched): Promise<string[]> {
  const scripts = await inspector.functionsCalled(`file://${root}`);
  const starts = scripts.filter((start) => start > 0);
  const called = starts.map((start) => files.findLast((file) => file.start <= start)?.path ?? "");
  return called
    .filter((path) => /^(gateway|packages|services)\//.test(path))
    .map((path) => `${name} ${path}`);
}

function print(entries: string[]): void {
  const pairs = entries.map((entry) => entry.split(" ") as [process: string, path: string]);
  for (const [name, inProcess] of Map.groupBy(pairs, ([process]) => process)) {
    const paths = inProcess.map(([, path]) => path).sort();
    console.log(`\n${name}: ${paths.length} files`);
    for (const [part, own] of Map.groupBy(paths, partOf)) {
      console.log(`  ${part} (${own.length})`);
      for (const path of own) console.log(`    ${path.slice(part.length + "/src/".length)}`);
    }
  }
  const all = new Set(pairs.map(([, path]) => path));
  const ofParts = [...Map.groupBy(all, partOf)].map(([part, own]) => `${part} ${own.length}`);
  console.log(`\n${method} ${path}: ${all.size} files (${ofParts.join(", ")})`);
}

/** Each file of the numbered list is passed. */
async function holdListAgainst(entries: string[]): Promise<void> {
  const [, section = ""] = (await readFile(LIST.file, "utf8")).split(`${LIST.heading}\n`);
  const [list = ""] = section.split("\n## ");
  const listed = [...list.matchAll(/^\d+\. `(\S+)`/gm)].map(([, path = ""]) => path);
  const missing = listed.filter((path) => !entries.some((entry) => entry.endsWith(` ${path}`)));
  console.log(`${listed.length} files are listed in ${LIST.file}`);
  if (missing.length > 0) throw new Error(`not passed: ${missing.join(", ")}`);
}

/** `packages/rpc` or `gateway`. */
function partOf(path: string): string {
  return path.slice(0, path.indexOf("/src/"));
}
