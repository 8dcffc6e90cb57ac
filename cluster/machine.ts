import { execFile, spawn } from "node:child_process";
import { promisify } from "node:util";

const OUTPUT_BYTES_MAX = 64 * 1024 * 1024;

/** The output of a command. Fails with its error output. */
export async function output(command: string, args: string[], env = process.env): Promise<string> {
  const { stdout } = await promisify(execFile)(command, args, { env, maxBuffer: OUTPUT_BYTES_MAX });
  return stdout;
}

/** Runs a command that reads `input`. Fails with what it wrote. */
export function feed(command: string, args: string[], input: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { stdio: ["pipe", "pipe", "pipe"] });
    let written = "";
    for (const stream of [child.stdout, child.stderr])
      stream.on("data", (chunk: Buffer) => {
        written += chunk.toString("utf8");
      });
    child.once("error", reject);
    child.once("close", (code) =>
      code === 0 ? resolve(written) : reject(new Error(`${command} ${args.join(" ")}: ${written.trim()}`)),
    );
    child.stdin.end(input);
  });
}
