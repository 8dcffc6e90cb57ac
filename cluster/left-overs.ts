import { existsSync, globSync, readFileSync } from "node:fs";
import { networkInterfaces } from "node:os";
import { cgroups, folder, NODE } from "./cluster.ts";

/** Traces of this process' cluster on this machine: processes, mounts, network interfaces, control groups, files. */
export function leftOvers(): string[] {
  const processes = globSync("/proc/[0-9]*").filter((folder) => textOf(`${folder}/cmdline`).includes(folder));
  const mounts = textOf("/proc/mounts")
    .split("\n")
    .filter((line) => line.includes(folder));
  const interfaces = Object.entries(networkInterfaces()).filter(([, addresses]) =>
    addresses?.some(({ address }) => address === NODE.NODE_IP),
  );
  return [
    ...processes,
    ...mounts,
    ...interfaces.map(([name]) => `interface ${name}`),
    ...cgroups(),
    ...(existsSync(folder) ? [folder] : []),
  ];
}

function textOf(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return ""; // a process that ended meanwhile
  }
}
