import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chartSecrets } from "@tidings/scripts/chart-secrets";
import { processes } from "@tidings/scripts/processes";
import { createAuthority } from "@tidings/testkit/certificates";
import { addressOf, apply, kubectl } from "./kubectl.ts";
import { output } from "./machine.ts";
import { VERSION } from "./program.ts";

const CHART = join(import.meta.dirname, "../charts/tidings");
const PROFILES = join(CHART, "ci");
/** Values that every profile needs to run here: small requests, stores, a receiver on the node that webhooks may reach. */
const HERE = join(import.meta.dirname, "values/here.yaml");
export const RELEASE = "tidings";
export const ADMINISTRATOR = { username: "admin", password: "cluster-admin-password" };
const TIMEOUT = "--timeout=4m";

export interface Installation {
  /** Files of values, the later ones over the earlier. */
  values: string[];
  tag: string;
}

/** The values of a profile of the chart. */
export function profile(name: string): string {
  return join(PROFILES, `${name}.yaml`);
}

/** Makes the Secrets and installs the chart. Done when everything is ready. */
export async function install(installation: Installation): Promise<void> {
  const items = chartSecrets({ release: RELEASE, adminPassword: ADMINISTRATOR.password });
  await apply(JSON.stringify({ apiVersion: "v1", kind: "List", items }));
  await giveCertificates();
  await helm("install", installation);
}

/** Done when everything is ready. `set` are values over those of the files. */
export function upgrade(installation: Installation, set: string[] = []): Promise<void> {
  return helm("upgrade", installation, set);
}

/** To the revision before. */
export async function rollback(): Promise<void> {
  await output("helm", ["rollback", RELEASE, "--wait", TIMEOUT]);
}

/** The release's own smoke test; fails with what it wrote. */
export async function smoke(): Promise<void> {
  try {
    await output("helm", ["test", RELEASE, "--timeout=90s"]);
  } catch (error) {
    const log = await kubectl("logs", `${RELEASE}-smoke`, "--tail=5").catch(() => "nothing");
    throw new Error(`The smoke test failed and wrote: ${log}`, { cause: error });
  }
}

/** Takes everything away, volumes included. */
export async function uninstall(): Promise<void> {
  await output("helm", ["uninstall", RELEASE, "--wait", TIMEOUT]);
  await kubectl("delete", "secrets,persistentvolumeclaims,jobs", "--all", "--wait");
}

/** Where the gateways are found. */
export function gatewayUrl(): Promise<string> {
  return addressOf(`${RELEASE}-gateway`, 8080);
}

/** Kinds of objects in a profile that this cluster does not know. */
export async function unknownKinds(values: string): Promise<string[]> {
  const rendered = await output("helm", [
    "template",
    RELEASE,
    CHART,
    `--kube-version=${VERSION}`,
    "--values",
    values,
  ]);
  const known = new Set((await kubectl("api-versions")).split("\n"));
  const versions = new Set(
    [...rendered.matchAll(/^apiVersion: (\S+)$/gm)].map(([, version = ""]) => version),
  );
  return [...versions].filter((version) => !known.has(version));
}

async function helm(
  verb: "install" | "upgrade",
  { values, tag }: Installation,
  set: string[] = [],
): Promise<void> {
  await output("helm", [
    verb,
    RELEASE,
    CHART,
    ...[HERE, ...values].flatMap((file) => ["--values", file]),
    ...["global.image.registry=", `global.image.tag=${tag}`].flatMap((value) => ["--set-string", value]),
    ...set.flatMap((value) => ["--set", value]),
    "--wait",
    TIMEOUT,
  ]);
}

/** As cert-manager would, in the Secrets that the chart looks for when TLS is enabled. */
async function giveCertificates(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "certificates-"));
  try {
    const authority = await createAuthority(folder);
    for (const { name } of processes) {
      const hosts = [`${RELEASE}-${name}`, `${RELEASE}-${name}-grpc`];
      const files = await authority.issue(name, hosts);
      const read = (path: string) => readFile(path, "utf8");
      const stringData = {
        "tls.crt": await read(files.TLS_CERT_FILE),
        "tls.key": await read(files.TLS_KEY_FILE),
        "ca.crt": await read(files.TLS_CA_FILE),
      };
      const metadata = { name: `${RELEASE}-${name}-tls` };
      await apply(
        JSON.stringify({ apiVersion: "v1", kind: "Secret", type: "kubernetes.io/tls", metadata, stringData }),
      );
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
