import { globSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { root } from "./tool.ts";

const IMPORT = /(?:from|import) "(\.[^"]+)"/g;

/**
 * The circles in which the folders of services import each other; a service's own files, which put its parts together, and
 * tests stand above all folders.
 */
export function circlesOfRooms(): string[] {
  const neighbours = new Map<string, Set<string>>();
  const files = globSync("services/*/src/*/*.ts", { cwd: root });
  for (const file of files.filter((path) => !path.endsWith(".test.ts") && !path.includes("/testing/"))) {
    const room = dirname(file);
    const imported = [...readFileSync(join(root, file), "utf8").matchAll(IMPORT)].map(([, path = ""]) =>
      dirname(normalize(join(room, path))),
    );
    const known = neighbours.get(room) ?? new Set();
    neighbours.set(room, new Set([...known, ...imported.filter((other) => other !== room)]));
  }
  const circles: string[] = [];
  const done = new Set<string>();
  const walk = (room: string, way: string[]): void => {
    if (way.includes(room)) circles.push([...way.slice(way.indexOf(room)), room].join(" → "));
    if (done.has(room) || way.includes(room)) return;
    for (const next of neighbours.get(room) ?? []) walk(next, [...way, room]);
    done.add(room);
  };
  for (const room of neighbours.keys()) walk(room, []);
  return circles;
}
