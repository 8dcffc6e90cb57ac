import { eventually } from "@tidings/testkit/eventually";
import { kubectl, pods, untilReady } from "./kubectl.ts";
import { output } from "./machine.ts";

export const RESTART = { timeoutMs: 120_000, intervalMs: 300 };

/** Kills the container of the first pod of a component from outside, by SIGKILL: its process has no time to react. Done when the pod is ready again. */
export async function kill(name: string, replicas: number): Promise<string> {
  const [victim] = await untilReady(name, replicas);
  await output("ctr", ["--namespace=k8s.io", "task", "kill", "--signal=SIGKILL", victim?.container ?? ""]);
  const again = await eventually(async () => {
    const found = (await pods(name)).find((pod) => pod.name === victim?.name);
    if (!found?.isReady || found.restarts === victim?.restarts) throw new Error(`${name} is not there again`);
    return found;
  }, RESTART);
  return `restart ${again.restarts}`;
}

/**
 * Deletes the first pod of a component by force: the API server forgets it at once, and the kubelet kills what still runs two seconds later.
 * Done when another pod is ready.
 */
export async function deleteByForce(name: string, replicas: number): Promise<void> {
  const [victim] = await untilReady(name, replicas);
  await kubectl("delete", "pod", victim?.name ?? "", "--grace-period=0", "--force");
  await untilReady(name, replicas);
}
