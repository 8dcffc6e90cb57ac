import { globSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { root } from "./tool.ts";

const IMPORT = /(?:from|import) "(\.[^"]+)"/g;
const FILES = "{services/*,packages/*,gateway}/src/**/*.ts";
const IS_TEST = /\.test\.ts$|\/testing\//;
/** The files of a `src` itself put the parts of a service or package together: they stand above all folders. */
const IS_ROOT = /\/src$/;

/**
 * Circles of imports: between folders of a service, a package or the gateway, and between two files. Tests stand above both.
 */
export function circlesOfImports(): string[] {
  const files = globSync(FILES, { cwd: root }).filter((path) => !IS_TEST.test(path));
  const imports = new Map(
    files.map((file) => {
      const text = readFileSync(join(root, file), "utf8");
      const paths = [...text.matchAll(IMPORT)].map(([, path = ""]) => normalize(join(dirname(file), path)));
      return [file, paths] as const;
    }),
  );
  const pairs = [...imports].flatMap(([file, paths]) =>
    paths
      .filter((path) => file < path && imports.get(path)?.includes(file))
      .map((path) => `${file} ↔ ${path}`),
  );
  return [...circlesOfFolders(imports), ...pairs];
}

function circlesOfFolders(imports: ReadonlyMap<string, string[]>): string[] {
  const folders = new Map<string, Set<string>>();
  for (const [file, paths] of imports) {
    const folder = dirname(file);
    if (IS_ROOT.test(folder)) continue;
    const others = paths
      .map((path) => dirname(path))
      .filter((other) => other !== folder && !IS_ROOT.test(other));
    folders.set(folder, new Set([...(folders.get(folder) ?? []), ...others]));
  }
  const circles: string[] = [];
  const done = new Set<string>();
  const walk = (folder: string, way: string[]): void => {
    if (way.includes(folder)) circles.push([...way.slice(way.indexOf(folder)), folder].join(" → "));
    if (done.has(folder) || way.includes(folder)) return;
    for (const next of folders.get(folder) ?? []) walk(next, [...way, folder]);
    done.add(folder);
  };
  for (const folder of folders.keys()) walk(folder, []);
  return circles;
}
