import { cp, mkdir, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join, relative } from "node:path";
import type { Metafile } from "esbuild";
import { bundlePackage, NATIVE, type Program, RARE } from "../bundle.ts";
import { root } from "../tool.ts";
import { billOfMaterials, bundledPackages, type Component, npmComponent } from "./bill-of-materials.ts";
import { licenseTexts, readPackage } from "./npm-package.ts";

export interface AppOptions {
  program: Program;
  /** Its bundle, and what `bundlePrograms` answered. */
  bundle: string;
  metafile: Metafile;
  version: string;
  /** The components that the app is going to stand on, as far as they are known. */
  platform?: Component[];
}

/**
 * Writes all that a program needs but Node: its bundle `main.js`, the files beside it, the packages that are in no bundle, their
 * `licenses.txt`, and what it is made of, `sbom.cdx.json`. Answers the latter.
 */
export async function writeAppFolder(options: AppOptions, folder: string): Promise<string> {
  const { program, bundle, metafile, version, platform = [] } = options;
  const output = metafile.outputs[relative(root, bundle)];
  if (!output) throw new Error(`${program.name} was not bundled`);
  await mkdir(folder, { recursive: true });
  await cp(bundle, join(folder, "main.js"));
  for (const beside of program.folders)
    await cp(join(dirname(bundle), beside), join(folder, beside), { recursive: true });
  for (const script of Object.keys(program.scripts ?? {}))
    await cp(join(dirname(bundle), script), join(folder, script));
  const name = `tidings-${program.name}`;
  await writeJson(join(folder, "package.json"), { name, version, type: "module", private: true });

  const imported = new Set(output.imports.map(({ path }) => path));
  const packages = bundledPackages({ inputs: {}, outputs: { bundle: output } });
  for (const native of NATIVE.filter((wanted) => imported.has(wanted)))
    packages.push(...(await copyPackages(native, join(root, program.entry), folder)));
  for (const rare of RARE.filter((wanted) => imported.has(wanted)))
    packages.push(...bundledPackages(await bundleApart(rare, program, folder)));
  for (const source of Object.values(program.files ?? {})) {
    const found = installed(source.split("/")[0] ?? "", join(root, program.entry));
    if (found) packages.push(found);
  }
  await writeFile(join(folder, "licenses.txt"), licenseTexts(packages));
  const components = new Map([...packages.map(npmComponent), ...platform].map((part) => [part.purl, part]));
  const bill = billOfMaterials(name, version, [...components.values()]);
  await writeFile(join(folder, "sbom.cdx.json"), bill);
  return bill;
}

/** A package and, of its optional ones, those for this platform. */
async function copyPackages(name: string, importer: string, folder: string) {
  const found = installed(name, importer);
  if (!found) throw new Error(`${name} is not installed`);
  const entry = join(found.folder, "package.json");
  const parts = found.optionalDependencies.map((part) => installed(part, entry));
  const packages = [found, ...parts.filter((part) => part !== undefined)];
  for (const { name: part, folder: source } of packages)
    await cp(source, join(folder, "node_modules", part), {
      recursive: true,
      filter: (path) => !path.endsWith(".d.ts") && !path.slice(source.length).includes("/node_modules"),
    });
  return packages;
}

function installed(name: string, importer: string) {
  try {
    return readPackage(dirname(createRequire(importer).resolve(`${name}/package.json`)));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "MODULE_NOT_FOUND") return undefined;
    throw error;
  }
}

/** One file of a package of many: found by its name all the same. */
async function bundleApart(name: string, program: Program, folder: string): Promise<Metafile> {
  const target = join(folder, "node_modules", name);
  const metafile = await bundlePackage(name, program, join(target, "index.js"));
  await writeJson(join(target, "package.json"), { name, type: "module", exports: "./index.js" });
  return metafile;
}

function writeJson(path: string, value: object): Promise<void> {
  return writeFile(path, `${JSON.stringify(value, null, 2)}\n`);
}
