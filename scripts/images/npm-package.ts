import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { root } from "../tool.ts";

/** A package of npm as it is installed here. */
export interface NpmPackage {
  name: string;
  version: string;
  /** An SPDX identifier or expression. */
  license: string;
  /** Where it lies. */
  folder: string;
  optionalDependencies: string[];
}

const IN_PACKAGE = /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)(?:\/|$)/;

/** The package that a file from the root of the repository belongs to; undefined when the file is ours. */
export function packageOf(path: string): NpmPackage | undefined {
  const [, folder] = IN_PACKAGE.exec(path) ?? [];
  return folder === undefined ? undefined : readPackage(join(root, folder));
}

/** Throws when a package does not say its licence: nobody may then give it away. */
export function readPackage(folder: string): NpmPackage {
  const {
    name,
    version,
    license,
    optionalDependencies = {},
  } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  if (typeof license !== "string") throw new Error(`${name} ${version} does not say its licence`);
  return { name, version, license, folder, optionalDependencies: Object.keys(optionalDependencies) };
}

const LICENSE_FILE = /^(licen[cs]e|copying|notice)|\.licen[cs]e\.txt$/i;

/** The files of licences in a package; some packages have a folder of them. */
function licenseFiles(folder: string): string[] {
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((path) => LICENSE_FILE.test(path) && !path.includes("node_modules"))
    .map((path) => join(folder, path));
  return files.filter((path) => statSync(path).isFile()).sort();
}

/** The texts that must be passed on with each of these packages: its name and its licence. */
export function licenseTexts(packages: NpmPackage[]): string {
  const textOf = ({ name, version, license, folder }: NpmPackage) => {
    const texts = licenseFiles(folder).map((file) => readFileSync(file, "utf8").trim());
    return [`${name} ${version}: ${license}`, ...texts].join("\n\n");
  };
  return `${packages.map(textOf).sort().join("\n\n---\n\n")}\n`;
}
