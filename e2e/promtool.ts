import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { serverProgram } from "@tidings/embedded/server-program";
import { temporaryFolder } from "@tidings/testkit/temporary-folder";

/** Runs promtool; throws with what it says when it finds something wrong. */
export async function promtool(...args: string[]): Promise<void> {
  const { path, env } = await serverProgram("promtool");
  await promisify(execFile)(path, args, { env: { ...process.env, ...env } }).catch((error) => {
    throw new Error(`${error.stdout}\n${error.stderr}`);
  });
}

/** The same, given a file of that content; JSON is YAML, too. */
export async function promtoolOn(command: string[], content: unknown): Promise<void> {
  const folder = await temporaryFolder();
  try {
    const path = join(folder.path, "content.yaml");
    await writeFile(path, JSON.stringify(content));
    await promtool(...command, path);
  } finally {
    await folder.remove();
  }
}
