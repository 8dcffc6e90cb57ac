// Runs a script of this repository with Node 24, on a machine that may have nothing but an older Node and npm.
import { spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dirname ?? new URL(".", import.meta.url).pathname, "..");
const modules = join(root, "node_modules");
const PNPM = "pnpm@12.21.0";
const NODE_MAJOR = 24;
const SIGNAL_ECHO_MS = 500;
const PARENT_CHECK_MS = 500;

process.chdir(root);
install();
const [script, ...args] = process.argv.slice(2);
runToEnd(findNode(), [script, ...args]);

/** Installs the dependencies unless those of the present lockfile are there. */
function install() {
  const stamp = join(modules, ".tidings-lock");
  const lock = createHash("sha256").update(readFileSync("pnpm-lock.yaml")).digest("hex");
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === lock) return;
  console.error("Installing dependencies, this takes about a minute the first time ...");
  const env = { ...process.env, CI: "true", npm_config_loglevel: "error" };
  const options = { env, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] };
  const result = spawnSync("npx", ["--yes", PNPM, "install", "--frozen-lockfile"], options);
  if (result.status !== 0) {
    console.error(result.error?.message ?? `${result.stdout}${result.stderr}`);
    console.error("The dependencies could not be installed.");
    process.exit(1);
  }
  writeFileSync(stamp, lock);
}

function findNode() {
  if (Number.parseInt(process.versions.node, 10) >= NODE_MAJOR) return process.execPath;
  const node = join(modules, `node-${process.platform}-${process.arch}/bin/node`);
  if (existsSync(node)) return node;
  console.error(
    `Node ${NODE_MAJOR} or newer is needed on this platform, this is Node ${process.versions.node}.`,
  );
  process.exit(1);
}

/** Ends as the script ends. The channel tells the script when this process is gone, whatever ended it. */
function runToEnd(node, commandLine) {
  // Compiled once, a process is there in half the time: every script starts several.
  const env = { NODE_COMPILE_CACHE: join(root, ".cache/compile"), ...process.env };
  const child = spawn(node, commandLine, { env, stdio: ["inherit", "inherit", "inherit", "ipc"] });
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) forward(signal, child);
  if (process.env.npm_lifecycle_event) stopWithParent(child);
  child.on("error", (error) => {
    console.error(error.message);
    process.exit(1);
  });
  child.on("exit", (code, signal) => process.exit(signal ? 1 : (code ?? 1)));
}

/** Once for each Ctrl-C: the terminal signals every process of its group, and npm then repeats it to this one. */
function forward(signal, child) {
  let lastAt = 0;
  process.on(signal, () => {
    if (Date.now() - lastAt > SIGNAL_ECHO_MS) child.kill(signal);
    lastAt = Date.now();
  });
}

/** npm passes SIGTERM to its shell only, which ends without telling anyone. */
function stopWithParent(child) {
  const parent = process.ppid;
  const watch = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(watch);
    child.kill("SIGTERM");
  }, PARENT_CHECK_MS);
}
