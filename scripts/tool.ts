import { spawn } from "node:child_process";
import { delimiter, dirname, join } from "node:path";

export const root = join(import.meta.dirname, "..");

export interface ToolResult {
  ok: boolean;
  /** All it wrote. */
  output: string;
}

export interface Tool {
  command: string;
  args: string[];
  /** From the root of the repository, which is the default. */
  cwd?: string;
}

/** Runs a development tool of the workspace: `biome`, `tsc`, or `buf`, which lives in proto. */
export function runTool({ command, args, cwd = "." }: Tool): Promise<ToolResult> {
  const folder = join(root, cwd);
  // The tools are scripts of Node: they get this one, not an older one of the machine.
  const path = [join(folder, "node_modules/.bin"), dirname(process.execPath), process.env.PATH].join(
    delimiter,
  );
  const child = spawn(command, args, { cwd: folder, env: { ...process.env, PATH: path } });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (chunk: Buffer) => {
      output += chunk.toString("utf8");
    });
  }
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => resolve({ ok: code === 0, output }));
  });
}

/** Runs tools one after another; shows what they write and ends with exit code 1 when one fails. */
export async function runTools(tools: Tool[]): Promise<void> {
  for (const tool of tools) {
    const { ok, output } = await runTool(tool);
    if (output.trim()) console.log(output.trim());
    if (!ok) process.exitCode = 1;
  }
}
