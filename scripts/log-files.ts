import { chmodSync, createWriteStream, mkdirSync, type WriteStream } from "node:fs";
import { join } from "node:path";
import type { LogSink } from "./supervised-process.ts";

/** Keeps the lines of every process in `<folder>/<name>.log`; warnings and errors also go to the screen, shortened. */
export function logToFiles(folder: string): LogSink {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  chmodSync(folder, 0o700); // an older version made it for everybody
  const files = new Map<string, WriteStream>();
  return (name, line) => {
    let file = files.get(name);
    if (!file) {
      file = createWriteStream(join(folder, `${name}.log`), { flags: "a", mode: 0o600 });
      files.set(name, file);
    }
    file.write(`${line}\n`);
    const shown = forScreen(line);
    if (shown) console.error(`${name}: ${shown}`);
  };
}

const SHOWN_LEVELS = new Set(["warn", "error", "fatal"]);

/** What of a line is worth a person's attention; undefined when nothing is. */
export function forScreen(line: string): string | undefined {
  const entry = parse(line);
  if (!entry) return line.trim() || undefined; // not from the log: Node itself has something to say
  if (!SHOWN_LEVELS.has(entry.level)) return undefined;
  const cause = entry.err?.message;
  return [entry.level, entry.msg, cause].filter(Boolean).join(": ");
}

interface Entry {
  level: string;
  msg?: string;
  err?: { message?: string };
}

function parse(line: string): Entry | undefined {
  try {
    const value = JSON.parse(line);
    return typeof value?.level === "string" ? value : undefined;
  } catch {
    return undefined; // plain text
  }
}
