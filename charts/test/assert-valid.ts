import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { join } from "node:path";
import { program } from "./programs.ts";

const SCHEMAS = join(import.meta.dirname, "schemas");

/**
 * Against the definitions of Kubernetes and of what it is extended by, and those in other folders; fields that are not defined
 * are refused.
 */
export async function assertValid(manifests: object[], otherSchemas: string[] = []): Promise<void> {
  const locations = [SCHEMAS, ...otherSchemas].flatMap((folder) => [
    "-schema-location",
    join(folder, "{{.ResourceKind}}.json"),
  ]);
  const args = ["-strict", "-output", "text", ...locations];
  const child = spawn(await program("kubeconform"), args);
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (chunk: Buffer) => {
      output += chunk.toString("utf8");
    });
  child.stdin.end(manifests.map((manifest) => JSON.stringify(manifest)).join("\n---\n"));
  const code = await new Promise((resolve) => child.once("close", resolve));
  assert.equal(code, 0, output);
}
