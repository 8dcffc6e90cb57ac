import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";

/** The command line of a running process; undefined when there is none with this id. */
export function commandLineOf(pid: number): string | undefined {
  try {
    const text =
      process.platform === "linux"
        ? readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ")
        : execFileSync("ps", ["-o", "command=", "-p", String(pid)], { encoding: "utf8" });
    return text.trim() || undefined;
  } catch {
    return undefined; // ended meanwhile, or never was
  }
}
