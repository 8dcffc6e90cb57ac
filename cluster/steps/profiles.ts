import { globSync } from "node:fs";
import { basename, join } from "node:path";
import { failure } from "../failure.ts";
import { say } from "../progress.ts";
import { install, profile, smoke, uninstall, unknownKinds } from "../release.ts";
import type { Outcome } from "../step.ts";

/**
 * Installs each profile of the chart that this cluster knows all kinds of, lets it test itself, and takes it away again. Only here
 * do the others stay out: what they need is not in a cluster of its own accord.
 */
export async function tryProfiles(tag: string): Promise<Outcome[]> {
  const names = globSync("*.yaml", { cwd: join(profile("x"), "..") }).map((file) => basename(file, ".yaml"));
  const outcomes: Outcome[] = [];
  for (const name of names.sort()) outcomes.push(await tryProfile(name, tag));
  return outcomes;
}

async function tryProfile(name: string, tag: string): Promise<Outcome> {
  const what = `install ${name}`;
  const missing = await unknownKinds(profile(name));
  if (missing.length > 0)
    return { ok: true, what, note: `not tried: this cluster has no ${missing.join(", ")}` };
  say(`installing the profile ${name}`);
  const startedAt = performance.now();
  try {
    await install({ values: [profile(name)], tag });
    const seconds = (performance.now() - startedAt) / 1000;
    await smoke();
    return { ok: true, what, seconds, note: "its own test passed" };
  } catch (error) {
    return await failure(what, error as Error);
  } finally {
    await uninstall();
  }
}
