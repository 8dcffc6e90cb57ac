import { readFile } from "node:fs/promises";
import type { Document } from "@tidings/gateway/openapi/document";
import { openApiText } from "./openapi-file.ts";

/** The least share of pairs of an operation and a status, with what the matrices see and without. */
const COVERED_MIN = { withMatrices: 0.95, alone: 0.9 };

/**
 * Prints how much of the API's description the tests of a run saw, of which each line of the file has an operation and a status. Answers
 * whether every operation was called, and most of their statuses were seen.
 */
export async function tellCoverage(path: string, of: keyof typeof COVERED_MIN): Promise<boolean> {
  const seen = new Set((await readFile(path, "utf8")).trim().split("\n"));
  const called = new Set([...seen].map((line) => line.split(" ")[0]));
  const { paths } = JSON.parse(openApiText()) as Document;
  const operations = Object.values(paths).flatMap((methods) => Object.values(methods));
  const missing = operations.filter(({ operationId }) => !called.has(operationId));
  const answers = operations.flatMap(({ operationId, responses }) =>
    Object.keys(responses).map((status) => `${operationId} ${status}`),
  );
  // Answers that depend on time are described everywhere and provoked by tests of their own, at some operations.
  const own = answers.filter((line) => !/ (408|429|5\d\d)$/.test(line));
  const covered = own.filter((line) => seen.has(line));
  console.log(
    `OpenAPI: ${operations.length - missing.length} of ${operations.length} operations called, ` +
      `${covered.length} of ${own.length} of their statuses seen (408, 429 and failures apart)`,
  );
  if (missing.length > 0)
    console.log(`Not called: ${missing.map(({ operationId }) => operationId).join(", ")}`);
  return missing.length === 0 && covered.length >= COVERED_MIN[of] * own.length;
}
