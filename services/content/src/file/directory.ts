import { badRequest } from "@tidings/rpc/fault";
import { refused } from "./refused.ts";

/** The roots, by the names callers know them by. */
const ROOTS = new Map([
  ["images", "images"],
  ["assets", "assets"],
  ["media", "assets"],
]);
const LENGTH_MAX = 200;
const SEGMENT = /^[A-Za-z0-9_-]{1,50}$/;
const DEPTH_MAX = 5;

/**
 * The directory that a path names, `images.flags` as `images/flags`. It is a word in a table and no place on any disk. Throws
 * UPLOAD_REFUSED for another root, BAD_REQUEST for what is no name.
 */
export function directoryOf(text: string, below = ""): string {
  const [root = "", ...rest] = text.slice(0, LENGTH_MAX + 1).split(".");
  const known = ROOTS.get(root);
  if (known === undefined)
    throw refused(`${root.slice(0, 50)} not found. Only media or images options are possible.`);
  const segments = [...rest, ...(below === "" ? [] : below.slice(0, LENGTH_MAX + 1).split(/[./]/))];
  const isTooLong = text.length > LENGTH_MAX || below.length > LENGTH_MAX || segments.length > DEPTH_MAX;
  if (isTooLong || !segments.every((segment) => SEGMENT.test(segment)))
    throw badRequest("The directory is not valid.");
  return [known, ...segments].join("/");
}

export function isOfImages(directory: string): boolean {
  return directory === "images" || directory.startsWith("images/");
}
