import { list } from "@tidings/runtime/config";
import { parseKey } from "./secret-box.ts";

/** A variable with the keys that secrets are kept under: `name:base64 of 32 bytes`, the first for new ones, all of them to read. */
export const secretKeys = list.refine(
  (keys) => keys.length > 0 && keys.every(isKey),
  "must be a list of name:base64 of 32 bytes",
);

function isKey(text: string): boolean {
  try {
    parseKey(text);
    return true;
  } catch {
    return false; // the error of the variable says why
  }
}
