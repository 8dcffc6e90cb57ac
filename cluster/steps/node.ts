import { processes } from "@tidings/scripts/processes";
import { eventually } from "@tidings/testkit/eventually";
import { kubectl, pods, untilReady } from "../kubectl.ts";
import { output } from "../machine.ts";
import type { Step } from "../step.ts";
import { underLoad } from "../under-load.ts";

const REPLICAS = 2;
const names = processes.map(({ name }) => name);
const PATIENCE = { timeoutMs: 120_000, intervalMs: 500 };

/**
 * The node is drained. There is no other: first its pods may go nowhere, and the disruption budgets have to stop the drain with one
 * of each left; then the node takes pods again, and the drain goes on until every one of them is another.
 */
export const nodeSteps: Step[] = [
  {
    name: "drain",
    run: async (world) => [
      await underLoad(world, {
        what: "drain the node",
        act: async () => {
          const before = new Set((await pods()).map(({ name }) => name));
          const selector = `app.kubernetes.io/component in (${names.join(",")})`;
          const drained = output("kubectl", [
            "drain",
            "node",
            `--pod-selector=${selector}`,
            "--delete-emptydir-data",
            "--timeout=300s",
          ]);
          drained.catch(() => undefined); // awaited below
          await eventually(oneOfEachIsLeft, PATIENCE);
          await kubectl("uncordon", "node");
          await drained;
          for (const name of names)
            for (const pod of await untilReady(name, REPLICAS))
              if (before.has(pod.name)) throw new Error(`${pod.name} was not drained`);
          return "cordoned, the budgets kept one of each; uncordoned, all were replaced";
        },
      }),
    ],
  },
];

async function oneOfEachIsLeft(): Promise<void> {
  const present = await pods();
  for (const name of names) {
    const own = present.filter(({ component }) => component === name);
    const ready = own.filter(({ isReady }) => isReady).length;
    const pending = own.filter(({ isPending }) => isPending).length;
    if (ready !== 1 || pending !== 1) throw new Error(`${name}: ${ready} ready, ${pending} pending`);
  }
}
