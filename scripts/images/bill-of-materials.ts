import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Metafile } from "esbuild";
import { parse } from "yaml";
import { root } from "../tool.ts";
import { type NpmPackage, packageOf } from "./npm-package.ts";

/** A part of an image that others made, as CycloneDX 1.6 describes it. */
export interface Component {
  type: "library" | "platform";
  "bom-ref": string;
  name: string;
  version: string;
  purl: string;
  licenses: [{ license: { id: string } } | { expression: string }];
  hashes?: { alg: "SHA-512"; content: string }[];
}

/** Each package of npm that has bytes in an output, sorted. */
export function bundledPackages({ outputs }: Metafile): NpmPackage[] {
  const files = Object.values(outputs).flatMap(({ inputs }) => Object.entries(inputs));
  const packages = files
    .filter(([, { bytesInOutput }]) => bytesInOutput > 0)
    .map(([path]) => packageOf(path))
    .filter((found) => found !== undefined);
  return [...new Map(packages.map((found) => [found.folder, found])).values()];
}

/** With the hash that the lock file has of it. */
export function npmComponent({ name, version, license }: NpmPackage): Component {
  const [algorithm, hash = ""] = integrityOf(`${name}@${version}`).split("-", 2);
  if (algorithm !== "sha512") throw new Error(`The lock file has no hash of ${name} ${version}`);
  return component("library", {
    name,
    version,
    license,
    purl: `pkg:npm/${name.replace("@", "%40")}@${version}`,
    hashes: [{ alg: "SHA-512", content: Buffer.from(hash, "base64").toString("hex") }],
  });
}

export function component(
  type: Component["type"],
  { license, ...rest }: Pick<Component, "name" | "version" | "purl" | "hashes"> & { license: string },
): Component {
  const isExpression = license.includes(" ");
  return {
    type,
    "bom-ref": rest.purl,
    ...rest,
    licenses: [isExpression ? { expression: license } : { license: { id: license } }],
  };
}

/** The parts of an image of ours. The text has no time or place: the same parts are the same text. */
export function billOfMaterials(name: string, version: string, components: Component[]): string {
  const whole = { type: "application", "bom-ref": name, name, version };
  const sorted = components.toSorted((one, other) => (one.purl < other.purl ? -1 : 1));
  const bill = {
    $schema: "http://cyclonedx.org/schema/bom-1.6.schema.json",
    bomFormat: "CycloneDX",
    specVersion: "1.6",
    version: 1,
    metadata: { component: { ...whole, licenses: [{ license: { id: "Apache-2.0" } }] } },
    components: sorted,
    dependencies: [{ ref: name, dependsOn: sorted.map((part) => part["bom-ref"]) }],
  };
  return `${JSON.stringify(bill, null, 2)}\n`;
}

let integrities: Record<string, { resolution: { integrity?: string } }> | undefined;

function integrityOf(id: string): string {
  integrities ??= parse(readFileSync(join(root, "pnpm-lock.yaml"), "utf8")).packages;
  return integrities?.[id]?.resolution.integrity ?? "";
}
