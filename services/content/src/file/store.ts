import type { Readable } from "node:stream";

/** Where the bytes of files are. Names are those of `newStoredName`; all others are refused by each store itself. */
export interface FileStore {
  /** Keeps what the file at `path` holds, whole or not at all. */
  put(name: string, path: string): Promise<void>;
  /** The bytes; undefined when there is nothing of this name. */
  open(name: string): Promise<Readable | undefined>;
  /** Whatever is there, and since when, in the order of the names; those behind `after`, where that is named. */
  list(after?: string): AsyncIterable<{ name: string; keptAt: Date }>;
  /** Deletes a file; a missing one counts as deleted. */
  delete(name: string): Promise<void>;
  close(): void;
}
