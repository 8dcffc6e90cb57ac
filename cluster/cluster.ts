import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import {
  closeSync,
  existsSync,
  globSync,
  openSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
} from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { commandLineOf } from "@tidings/embedded/command-line";
import { unpackDebianPackages } from "@tidings/embedded/debian-package";
import { eventually } from "@tidings/testkit/eventually";
import { output } from "./machine.ts";

const TEMPLATES = join(import.meta.dirname, "node");
const PACKAGES = [
  "catatonit",
  "conntrack",
  "containerd",
  "containernetworking-plugins",
  "ipset",
  "iptables",
  "nftables",
  "runc",
];
/** Addresses that exist in the node's network alone. */
export const NODE = {
  NODE_IP: "10.99.0.1",
  /** Another one of the node's own: who may reach what receives webhooks there may not reach the API server. */
  RECEIVER_IP: "10.99.0.2",
  MAIL_PORT: "2525",
  POD_RANGE: "10.99.1.0/24",
  SERVICE_RANGE: "10.99.2.0/24",
  DNS_IP: "10.99.2.10",
  METRICS_PORT: "4443",
};
const PREFIX = "tidings-cluster-";
/** The name of this process' cluster: its control groups, and the folder with all its files. */
const NAME = `${PREFIX}${process.pid}`;
export const folder = join(tmpdir(), NAME);
/** Each is used once: 3 for an installation. */
const VOLUMES = 30;
const START = { timeoutMs: 120_000, intervalMs: 250 };

/** A cluster of one node. */
export interface Cluster {
  /** Where the logs of its parts are, and how to speak to it (`kubeconfig`). */
  folder: string;
  /** The command line that runs another one on the node: in its namespaces, with `kubectl`, `helm` and `ctr` at hand. */
  inside(command: string[]): { command: string[]; env: NodeJS.ProcessEnv };
  /** Ends every process of it, and takes away what it left on this machine. */
  stop(): Promise<void>;
}

/** Where the packages are unpacked that a node needs. */
export function nodePackages(): Promise<string> {
  return unpackDebianPackages("kubernetes-node", PACKAGES);
}

/** Starts a cluster with the program (`program.ts`) that is all its parts. Done when its node is ready; it ends with this process. */
export async function startCluster(program: string): Promise<Cluster> {
  const root = await nodePackages();
  await removeTracesOfKilled();
  const settings = {
    ...NODE,
    CGROUP: NAME,
    DIR: folder,
    ROOT: root,
    PROGRAM: program,
    TOKEN: randomBytes(16).toString("hex"),
  };
  await prepare(settings);

  const node = startNode(settings);
  const takeAway = async () => {
    await end(node);
    await removeTraces(NAME);
  };
  let gone: Promise<void> | undefined;
  const stop = () => {
    gone ??= takeAway();
    return gone;
  };
  try {
    const inside = (command: string[]) => enter(node, command);
    await eventually(() => nodeIsReady(node, inside), START);
    return { folder, inside, stop };
  } catch (error) {
    const log = await readFile(join(folder, "node.log"), "utf8");
    await stop();
    throw new Error(`The cluster did not start: ${log.slice(-2_000)}`, { cause: error });
  }
}

async function prepare(settings: Record<string, string>): Promise<void> {
  const folders = [
    "bin",
    "cni",
    "containerd",
    "etc",
    "etcd",
    "flex",
    "home",
    "kubelet",
    "log",
    "parts",
    "pki",
    "settings",
  ];
  const volumes = Array.from({ length: VOLUMES }, (_, index) => `volume-${index + 1}`);
  for (const name of [...folders, ...volumes.map((volume) => `volumes/${volume}`)])
    await mkdir(join(folder, name), { recursive: true });
  const write = async (template: string, target: string) =>
    writeFile(join(folder, target), filled(template, settings));
  await write("containerd.toml", "etc/containerd.toml");
  await write("kubelet.yaml", "etc/kubelet.yaml");
  await write("kube-proxy.yaml", "etc/kube-proxy.yaml");
  await write("pods.conflist", "cni/pods.conflist");
  await write("kubeconfig.yaml", "kubeconfig");
  await writeFile(join(folder, "pki/tokens"), `${settings.TOKEN},admin,admin,system:masters\n`);
  const manifests = volumes.map((NAME) => filled("volume.yaml", { ...settings, NAME }));
  await writeFile(join(folder, "etc/base.yaml"), filled("base.yaml", settings) + manifests.join(""));
}

/** A file of `node/` with its `$NAMES` replaced. */
function filled(template: string, settings: Record<string, string>): string {
  const text = readFileSync(join(TEMPLATES, template), "utf8");
  return text.replaceAll(/\$([A-Z_]+)/g, (whole, name) => settings[name] ?? whole);
}

/** Its process 1 ends when this process ends, whatever ended it, and everything on the node ends with that. */
function startNode(settings: Record<string, string>): ChildProcess {
  const namespaces = ["--net", "--mount", "--uts", "--ipc", "--pid", "--mount-proc", "--propagation=private"];
  const log = openSync(join(folder, "node.log"), "w");
  const child = spawn(
    "setpriv",
    [
      "--pdeathsig=KILL",
      "unshare",
      ...namespaces,
      "--fork",
      "--kill-child",
      "bash",
      join(TEMPLATES, "node.sh"),
    ],
    { env: { ...process.env, ...settings }, stdio: ["ignore", log, log], detached: true },
  );
  closeSync(log);
  return child;
}

function enter(node: ChildProcess, command: string[]) {
  return {
    command: [
      "nsenter",
      `--target=${processOne(node)}`,
      ...["--net", "--mount", "--uts", "--ipc", "--pid"],
      `--wd=${process.cwd()}`,
      ...command,
    ],
    env: {
      ...process.env,
      KUBECONFIG: join(folder, "kubeconfig"),
      HOME: join(folder, "home"),
      PATH: `${join(folder, "bin")}:${process.env.PATH}`,
    },
  };
}

async function nodeIsReady(node: ChildProcess, inside: Cluster["inside"]): Promise<void> {
  if (node.exitCode !== null || node.signalCode !== null) throw new Error("process 1 of the node ended");
  const { command, env } = inside(["kubectl", "wait", "--for=condition=Ready", "node/node", "--timeout=1s"]);
  const [program = "", ...args] = command;
  await output(program, args, env);
}

/** With process 1 of its namespaces everything on the node ends, and its mounts and network with the last of them. */
async function end(node: ChildProcess): Promise<void> {
  if (node.exitCode !== null || node.signalCode !== null) return;
  const ended = once(node, "exit");
  process.kill(processOne(node), "SIGKILL");
  await ended;
}

function processOne({ pid }: ChildProcess): number {
  return Number(readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8"));
}

/** Control groups are the machine's: they stay when their processes are gone. */
async function removeTraces(name: string): Promise<void> {
  await eventually(() => {
    for (const group of cgroups(name)) rmdirSync(group);
  });
  rmSync(join(tmpdir(), name), { recursive: true, force: true });
}

/** Removes control groups and folders of runs whose processes are gone. */
async function removeTracesOfKilled(): Promise<void> {
  for (const name of readdirSync(tmpdir()).filter((name) => name.startsWith(PREFIX))) {
    const pid = Number(name.slice(PREFIX.length));
    const isRunning = pid !== process.pid && commandLineOf(pid)?.includes("cluster/test.ts");
    if (!isRunning) await removeTraces(name);
  }
}

/** The control groups of every hierarchy (version 1) or the only one, the innermost first. */
export function cgroups(name = NAME): string[] {
  const roots = ["/sys/fs/cgroup", ...globSync("/sys/fs/cgroup/*/")].map((root) => join(root, name));
  return roots
    .flatMap((root) => [...globSync(`${root}/**/`), root].filter((path) => existsSync(path)))
    .sort()
    .reverse();
}
