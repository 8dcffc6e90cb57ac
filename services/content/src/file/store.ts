import type { Readable } from "node:stream";

/** Bytes of a file, by the positions of the first and the last of them. */
export interface ByteRange {
  start: number;
  end: number;
}

/** Where the bytes of files are. Names are those of `newStoredName`; all others are refused by each store itself. */
export interface FileStore {
  /** Keeps what the file at `path` holds, whole or not at all. */
  put(name: string, path: string): Promise<void>;
  /** The bytes, or those of a range within the file; undefined when there is nothing of this name. */
  open(name: string, range?: ByteRange): Promise<Readable | undefined>;
  /** Whatever is there, and since when, in the order of the names; those behind `after`, where that is named. */
  list(after?: string): AsyncIterable<{ name: string; keptAt: Date }>;
  /** Deletes a file; a missing one counts as deleted. */
  delete(name: string): Promise<void>;
  close(): void;
}
