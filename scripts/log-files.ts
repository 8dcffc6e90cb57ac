import { chmodSync, createWriteStream, mkdirSync, type WriteStream } from "node:fs";
import { join } from "node:path";
import type { LogSink } from "./supervised-process.ts";

/** Keeps the lines of every process in `<folder>/<name>.log`; warnings and errors also go to the screen, shortened. */
export function logToFiles(folder: string): LogSink {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  chmodSync(folder, 0o700); // an older version made it for everybody
  const files = new Map<string, LogFile>();
  return (name, line) => {
    const file = files.get(name) ?? openLogFile(join(folder, `${name}.log`));
    files.set(name, file);
    file.write(line);
    const shown = forScreen(line);
    if (shown) console.error(`${name}: ${shown}`);
  };
}

interface LogFile {
  write(line: string): void;
}

/** After a failure, such as a full disk, lines are dropped for so long. */
const RETRY_MS = 1_000;

/** Appends lines. While they cannot be written they are dropped and counted; the file says afterwards how many were. */
export function openLogFile(path: string, now: () => number = Date.now): LogFile {
  let file: WriteStream | undefined;
  let dropped = 0;
  let retryAt = 0;
  const open = (): WriteStream => {
    const opened = createWriteStream(path, { flags: "a", mode: 0o600 });
    opened.on("error", () => {
      if (file === opened) file = undefined;
      retryAt = now() + RETRY_MS;
      dropped += 1;
    });
    return opened;
  };
  return {
    write(line) {
      if (!file && now() < retryAt) {
        dropped += 1;
        return;
      }
      file ??= open();
      const note = dropped > 0 ? `${dropped} lines could not be written\n` : "";
      dropped = 0;
      file.write(`${note}${line}\n`);
    },
  };
}

const SHOWN_LEVELS = new Set(["warn", "error", "fatal"]);

/** The part of a line that is worth a person's attention; undefined when nothing is. */
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
