import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { parseArgs } from "node:util";
import { stackOfCommand } from "./bench/temporary-stack.ts";
import { OPENAPI_FILE } from "./openapi-file.ts";
import { root } from "./tool.ts";

// Sends what the API's description allows, and what it does not, to a product of its own: no 5xx, and no answer that is not described.
const SCHEMATHESIS = "4.32.5";
const VENV = join(root, ".cache/schemathesis", SCHEMATHESIS);
const HALF_AN_HOUR = 1_800;
/** Parameters that leave members out of answers. */
const SELECTING = ["select", "minimal"].map((name) => `#/components/parameters/${name}`);
const CHECKS = [
  "not_a_server_error",
  "status_code_conformance",
  "content_type_conformance",
  "response_headers_conformance",
  "response_schema_conformance",
];

/** Phases, each with its share of the time. One run of both breaks off where the time ends between the two. */
const PHASES = [
  { phases: "examples,fuzzing", share: 0.75 },
  { phases: "stateful", share: 0.25 },
];

const { values } = parseArgs({ options: { seconds: { type: "string" }, seed: { type: "string" } } });
const seconds = Number(values.seconds ?? HALF_AN_HOUR);
const seed = Number(values.seed ?? Date.now() % 1_000_000);

const own = stackOfCommand();
try {
  await install();
  process.exitCode = await test();
} finally {
  await own.stop();
}

/** Once for each version, into a folder of its own. */
async function install(): Promise<void> {
  if (existsSync(join(VENV, "installed"))) return;
  await mkdir(dirname(VENV), { recursive: true });
  await succeed("python3", ["-m", "venv", VENV]);
  await succeed(join(VENV, "bin/pip"), ["install", "--quiet", `schemathesis==${SCHEMATHESIS}`]);
  await succeed("touch", [join(VENV, "installed")]);
}

/**
 * The description for the sender. A request that selects members is answered some of them, whatever is `required`: a schema cannot
 * say that, so none is sent.
 */
async function writeDescription(): Promise<string> {
  const text = await readFile(join(root, OPENAPI_FILE), "utf8");
  const document = JSON.parse(text, (name, value) =>
    name === "parameters" && Array.isArray(value)
      ? value.filter(({ $ref }) => !SELECTING.includes($ref))
      : value,
  );
  const path = join(dirname(VENV), "openapi.json");
  await writeFile(path, JSON.stringify(document));
  return path;
}

async function test(): Promise<number> {
  const { baseUrl, password } = await own.start();
  const credentials = Buffer.from(`admin:${password}`).toString("base64");
  console.log(`${seconds} s, seed ${seed}`);
  const description = await writeDescription();
  let worst = 0;
  for (const { phases, share } of PHASES) {
    const code = await run(join(VENV, "bin/schemathesis"), [
      ...["run", description, "--url", baseUrl, "--header", `Authorization: Basic ${credentials}`],
      ...["--checks", CHECKS.join(","), "--phases", phases, "--continue-on-failure"],
      ...["--max-time", String(Math.ceil(seconds * share)), "--seed", String(seed), "--workers", "2"],
      ...["--warnings", "off", "--no-color", "--max-examples", "1000", "--generation-database", "none"],
      // A changed password or an ended session would sign the sender out.
      ...["--exclude-path-regex", "/users/(self|\\{id\\})/(password|sessions)$"],
    ]);
    worst = Math.max(worst, code);
  }
  return worst;
}

async function succeed(command: string, args: string[]): Promise<void> {
  const code = await run(command, args);
  if (code !== 0)
    throw new Error(`${command} ${args.join(" ")} ended with ${code}; Python 3.10 or later is needed`);
}

async function run(command: string, args: string[]): Promise<number> {
  // It keeps notes in the folder that it runs in.
  const child = spawn(command, args, { stdio: "inherit", cwd: dirname(VENV) });
  const [code] = await once(child, "close");
  return code ?? 1;
}
