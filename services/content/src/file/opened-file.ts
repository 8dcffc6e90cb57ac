import type { Readable } from "node:stream";

/** A file that somebody sent with a form, by the alias of its field. */
export interface SentFile {
  formId: number;
  submissionId: number;
  alias: string;
}

/** The bytes of a file, with the name that its sender gave it. */
export interface OpenedFile {
  bytes: Readable;
  name: string;
  size: number;
}
