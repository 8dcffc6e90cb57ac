import { createHash } from "node:crypto";
import { existsSync, globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { buildWithGo } from "@tidings/embedded/go-program";
import { userCache } from "@tidings/embedded/user-cache";

const SOURCES = join(import.meta.dirname, "program");
/** The version that all parts report; charts ask for it (`kubeVersion`). */
export const VERSION = "v1.34.4";
const [, MAJOR, MINOR] = /^v(\d+)\.(\d+)/.exec(VERSION) ?? [];

/**
 * The path of the program that is every part of a Kubernetes cluster (`program/main.go`), built once for the user and these
 * sources. Needs `go`; takes 8 to 15 minutes of two cores the first time.
 */
export async function clusterProgram(announce: (text: string) => void): Promise<string> {
  const target = targetOfBuild();
  if (isBuilt()) return target;
  announce("building the cluster's program; with an empty Go cache this takes 8 to 15 minutes, once");
  await buildWithGo({
    what: "The cluster's program",
    target,
    argsFor: (folder) => ["build", "-trimpath", "-ldflags", LINKING, "-o", join(folder, "cluster"), "."],
    cwd: SOURCES,
  });
  return target;
}

/** Is there nothing to build? */
export function isBuilt(): boolean {
  return existsSync(targetOfBuild());
}

function targetOfBuild(): string {
  return join(userCache(), "cluster", digestOfSources(), "cluster");
}

const LINKING = [
  "-s -w",
  ...["gitVersion", "gitMajor", "gitMinor"].map(
    (name, index) => `-X k8s.io/component-base/version.${name}=${[VERSION, MAJOR, MINOR][index]}`,
  ),
  `-X k8s.io/client-go/pkg/version.gitVersion=${VERSION}`,
].join(" ");

function digestOfSources(): string {
  const digest = createHash("sha256").update(VERSION);
  for (const file of globSync("*", { cwd: SOURCES }).sort()) digest.update(readFileSync(join(SOURCES, file)));
  return digest.digest("hex").slice(0, 16);
}
