import { randomBytes } from "node:crypto";

const STORED_NAME = /^[0-9a-f]{32}\.[a-z0-9]{1,5}$/;

/** The name under which something is kept: nothing of it is a caller's. */
export function newStoredName(extension: string): string {
  return `${randomBytes(16).toString("hex")}.${extension}`;
}

/** Has it been made by `newStoredName`? */
export function isStoredName(text: string): boolean {
  return text.length <= 40 && STORED_NAME.test(text);
}
