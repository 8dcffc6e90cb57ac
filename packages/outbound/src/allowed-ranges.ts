import { list } from "@tidings/runtime/config";
import { parseRanges } from "./address.ts";

/** A variable that lists the private ranges which may be reached all the same, e.g. 127.0.0.1/32 for this machine. */
export const allowedRanges = rangeList();

/** A variable that lists CIDR ranges, and words that stand for several of them. */
export function rangeList(words: ReadonlyMap<string, string[]> = new Map()) {
  return list.transform((texts, context) => {
    const { ranges, invalid } = parseRanges(texts.flatMap((text) => words.get(text) ?? [text]));
    for (const text of invalid) context.addIssue({ code: "custom", message: `${text} is not a CIDR range` });
    return ranges;
  });
}
