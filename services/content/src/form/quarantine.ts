import { randomUUID } from "node:crypto";
import { createWriteStream } from "node:fs";
import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { unavailable } from "@tidings/rpc/fault";

/** A file that came with a submission. */
export interface ReceivedFile {
  /** Where it lies. */
  path: string;
  /** Bytes. */
  size: number;
}

/** The files of one submission while it is judged: they lie in files of their own, and none of them stays. */
export interface Quarantine {
  /** Writes a file to disk as it arrives. Throws UNAVAILABLE where the disk takes nothing. */
  add(stream: Readable): Promise<ReceivedFile>;
  /** Removes all of them, those that still arrive too. */
  clear(): Promise<void>;
}

/** `folder` is on this machine, and is swept of what a killed process leaves. */
export function openQuarantine(folder: string): Quarantine {
  const clearing = new AbortController();
  const { signal } = clearing;
  const arriving: { path: string; written: Promise<unknown> }[] = [];
  const write = async (stream: Readable, path: string): Promise<ReceivedFile> => {
    try {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      signal.throwIfAborted();
      const target = createWriteStream(path, { flags: "wx", mode: 0o600 });
      const closed = new Promise<void>((resolve) => target.once("close", resolve));
      await pipeline(stream, target, { signal }).finally(() => target.destroy() && closed);
      return { path, size: target.bytesWritten };
    } catch (error) {
      throw unavailable(error);
    }
  };
  return {
    add(stream) {
      const path = join(folder, randomUUID());
      const written = write(stream, path);
      arriving.push({ path, written });
      return written;
    },
    async clear() {
      clearing.abort();
      await Promise.allSettled(arriving.map(({ written }) => written));
      for (const { path } of arriving) await rm(path, { force: true });
    },
  };
}
