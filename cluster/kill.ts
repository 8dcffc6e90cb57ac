import { eventually } from "@tidings/testkit/eventually";
import { kubectl, type Pod, pods, untilReady } from "./kubectl.ts";
import { output } from "./machine.ts";

export const RESTART = { timeoutMs: 120_000, intervalMs: 300 };

/** Kills the first pod of a component. Done when its container was started again and is ready. */
export async function kill(name: string, replicas: number): Promise<string> {
  const victim = await killFirst(name, replicas);
  const again = await eventually(async () => {
    const found = (await pods(name)).find((pod) => pod.name === victim.name);
    if (!found?.isReady || found.restarts === victim.restarts) throw new Error(`${name} is not there again`);
    return found;
  }, RESTART);
  return `restart ${again.restarts}`;
}

/** Kills the first pod of a component and deletes it by force. Done when another pod is ready in its place. */
export async function killForGood(name: string, replicas: number): Promise<void> {
  const victim = await killFirst(name, replicas);
  await kubectl("delete", "pod", victim.name, "--grace-period=0", "--force");
  await untilReady(name, replicas);
}

/** SIGKILL from outside of the container: its process has no time to react. */
async function killFirst(name: string, replicas: number): Promise<Pod> {
  const [victim] = await untilReady(name, replicas);
  if (!victim) throw new Error(`There is no ${name}`);
  await output("ctr", ["--namespace=k8s.io", "task", "kill", "--signal=SIGKILL", victim.container]);
  return victim;
}
