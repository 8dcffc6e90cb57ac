import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { globSync, statSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Postgres, startPostgres } from "@tidings/embedded/postgres";
import { serverProgram } from "@tidings/embedded/server-program";
import { Client } from "pg";
import { bundlePrograms } from "./bundle.ts";
import { memoryFolder } from "./memory-folder.ts";
import { migrateSchemas } from "./migrate-schemas.ts";
import { tellCoverage } from "./openapi-coverage.ts";
import { onStopSignal } from "./stop-signal.ts";

const TEMPLATE = "tidings_template";
/** No test takes nearly as long: one that does hangs. */
const TEST_TIMEOUT_MS = 300_000;
/** Loaded into the process of each file. */
const FILE_TIME_LIMIT = join(import.meta.dirname, "file-time-limit.ts");
/** Tests of the whole system, of charts, images, faults and matrices have commands of their own: they take minutes, or the making of their tools does (ADR 109). */
const SKIPPED_FOLDERS = new Set(
  ["node_modules", ".git", ".cache", ".data"].concat("charts", "e2e", "packed", "faults", "matrices"),
);
/** Tests of the whole system: they have to call every operation of the API, and many share what is started before all. */
const WHOLE_SYSTEM = "e2e";
const BEFORE_ALL = "e2e/before-all.ts";

let runner: ChildProcess | undefined;
const stopped = new AbortController();
onStopSignal({
  async stop() {
    stopped.abort(new Error("stopped"));
    runner?.kill("SIGINT");
  },
  kill: () => runner?.kill("SIGKILL"),
});
process.exit(await runWithServers(process.argv.slice(2)));

/** Runs the tests of the files and folders given (all when none) and returns the exit code. */
async function runWithServers(args: string[]): Promise<number> {
  const folder = await mkdtemp(join(tmpdir(), "tidings-test-"));
  const data = await memoryFolder("tidings-test");
  let postgres: Postgres | undefined;
  try {
    [postgres] = await Promise.all([
      startPostgres({ dataDir: join(data ?? folder, "postgres"), durable: false }),
      serverProgram("nats-server"),
      serverProgram("redis-server"),
      bundlePrograms(),
    ]);
    await createTemplate(postgres.url);
    stopped.signal.throwIfAborted();
    const { OPENAPI_COVERAGE: shared } = process.env;
    const coverage = shared ?? join(folder, "openapi-coverage.txt");
    const env = { TEST_POSTGRES_URL: postgres.url, TMPDIR: folder, OPENAPI_COVERAGE: coverage };
    const code = await runTests(args, env);
    const isCovered =
      !args.includes(WHOLE_SYSTEM) || (await tellCoverage(coverage, shared ? "withMatrices" : "alone"));
    return isCovered ? code : 1;
  } catch (error) {
    console.error(stopped.signal.aborted ? "Stopped." : error);
    return 1;
  } finally {
    await postgres?.stop();
    for (const used of [folder, data]) if (used) await rm(used, { recursive: true, force: true });
  }
}

/** The database that every test file gets a copy of. */
async function createTemplate(serverUrl: string): Promise<void> {
  const client = new Client({ connectionString: serverUrl });
  await client.connect();
  await client.query(`create database ${TEMPLATE}`);
  await client.end();
  const adminUrl = Object.assign(new URL(serverUrl), { pathname: `/${TEMPLATE}` }).href;
  await migrateSchemas({ adminUrl, rolePrefix: TEMPLATE, passwordOf: (schema) => `test-${schema}` });
}

/** Runs the tests. Files that they leave in TMPDIR, such as when they are interrupted, are removed with it. */
async function runTests(args: string[], env: Record<string, string>): Promise<number> {
  const options = args.filter((arg) => arg.startsWith("-"));
  const paths = args.filter((arg) => !arg.startsWith("-"));
  const files = testFiles(paths.length > 0 ? paths : ["."]);
  if (files.length === 0) throw new Error(`No test files in ${paths.join(" ")}`);
  runner = spawn(
    process.execPath,
    [
      "--test",
      "--test-concurrency=2",
      `--test-timeout=${TEST_TIMEOUT_MS}`,
      "--import",
      FILE_TIME_LIMIT,
      ...(paths.includes(WHOLE_SYSTEM) ? [`--test-global-setup=${BEFORE_ALL}`] : []),
      ...options,
      ...files,
    ],
    {
      env: { ...process.env, ...env },
      stdio: "inherit",
    },
  );
  const [code] = await once(runner, "exit");
  return code ?? 1;
}

function testFiles(paths: string[]): string[] {
  return paths.flatMap((path) => {
    if (!statSync(path).isDirectory()) return [path];
    const found = globSync("**/*.test.ts", { cwd: path, exclude: (name) => SKIPPED_FOLDERS.has(name) });
    return found.map((file) => join(path, file)).sort();
  });
}
