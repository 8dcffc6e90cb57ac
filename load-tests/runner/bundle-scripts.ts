import { join } from "node:path";
import { build } from "esbuild";

const folder = join(import.meta.dirname, "..");

/** Makes what a cluster is given: the script of k6 in one file, and the receiver. Gives their paths. */
export async function bundleScripts(
  outputFolder = join(folder, "dist"),
): Promise<{ script: string; receiver: string }> {
  const script = join(outputFolder, "load-test.js");
  const receiver = join(outputFolder, "receiver.mjs");
  const shared = { bundle: true, format: "esm", logLevel: "warning" } as const;
  await build({
    ...shared,
    entryPoints: [join(folder, "k6/main.ts")],
    outfile: script,
    platform: "neutral",
    target: "es2022",
    external: ["k6", "k6/*"],
  });
  await build({
    ...shared,
    entryPoints: [join(folder, "receiver/main.ts")],
    outfile: receiver,
    platform: "node",
    target: "node24",
  });
  return { script, receiver };
}
