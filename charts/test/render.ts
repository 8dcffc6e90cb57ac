import { execFile } from "node:child_process";
import { globSync } from "node:fs";
import { basename, join } from "node:path";
import { promisify } from "node:util";
import { parseAllDocuments } from "yaml";
import { keyOf, type Manifest } from "./manifest.ts";
import { type Helm, program } from "./programs.ts";

const run = promisify(execFile);
const OUTPUT_MAX = 64 * 1024 * 1024;

export const CHARTS = join(import.meta.dirname, "..");
export const CHART = join(CHARTS, "tidings");
/** Without a cluster Helm needs to be given its kinds and version. */
const KUBERNETES = "1.34.0";

/** The sets of values that are kept beside the chart, by the name of their file. */
export const PROFILES = globSync("ci/*.yaml", { cwd: CHART })
  .map((path) => basename(path, ".yaml"))
  .sort();

export function valuesOf(profile: string): string {
  return join(CHART, "ci", `${profile}.yaml`);
}

export interface RenderOptions {
  helm?: Helm;
  /** None when absent: what the chart is by itself. */
  profile?: string | undefined;
  release?: string;
  /** As after `--set`. */
  set?: string[];
}

/** The objects that `helm template` makes, hooks and tests included, by kind and name. Throws with Helm's own output. */
export async function render(options: RenderOptions = {}): Promise<Manifest[]> {
  const { helm = "helm4", profile, release = "tidings", set = [] } = options;
  const args = ["template", release, CHART, "--namespace", "marketing", "--kube-version", KUBERNETES];
  if (profile) args.push("--values", valuesOf(profile));
  for (const setting of set) args.push("--set", setting);
  const { stdout } = await run(await program(helm), args, { maxBuffer: OUTPUT_MAX });
  return parseAllDocuments(stdout)
    .map((document) => {
      if (document.errors[0]) throw document.errors[0];
      return document.toJS() as Manifest | null;
    })
    .filter((manifest) => manifest !== null)
    .sort((one, other) => (keyOf(one) < keyOf(other) ? -1 : 1));
}

/** Runs `helm lint --strict` over the chart with the values of a profile. Throws with what it wrote. */
export async function lint(helm: Helm, profile: string): Promise<void> {
  const args = [
    "lint",
    "--strict",
    "--quiet",
    "--kube-version",
    KUBERNETES,
    "--values",
    valuesOf(profile),
    CHART,
  ];
  await run(await program(helm), args);
}
