import { deployments } from "@tidings/scripts/deployments";
import { eventually } from "@tidings/testkit/eventually";
import { kill, RESTART } from "../kill.ts";
import { kubectl, type Pod, pods, untilReady } from "../kubectl.ts";
import type { Outcome, Step } from "../step.ts";
import { underLoad } from "../under-load.ts";

const REPLICAS = 2;

export const podSteps: Step[] = [
  {
    name: "delete",
    run: (world) =>
      eachProcess((name) => underLoad(world, { what: `delete a ${name} pod`, act: () => replace(name) })),
  },
  {
    name: "kill",
    run: (world) =>
      eachProcess((name) =>
        underLoad(world, {
          what: `kill -9 a ${name} container`,
          mayFail: true,
          act: () => kill(name, REPLICAS),
        }),
      ),
  },
  {
    name: "stores",
    run: async (world) => [
      await underLoad(world, { what: "delete the NATS pod", act: () => deleteStore("nats") }),
      await underLoad(world, { what: "delete the Redis pod", act: () => deleteStore("redis") }),
      await underLoad(world, {
        what: "delete the Postgres pod",
        mayFail: true,
        act: () => deleteStore("postgres"),
      }),
      await underLoad(world, { what: "kill -9 the NATS container", act: () => kill("nats", 1) }),
      await underLoad(world, {
        what: "kill -9 the Postgres container",
        mayFail: true,
        act: () => kill("postgres", 1),
      }),
    ],
  },
];

async function eachProcess(run: (name: string) => Promise<Outcome>): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  for (const { name } of deployments) outcomes.push(await run(name));
  return outcomes;
}

async function replace(name: string): Promise<void> {
  const [victim] = await untilReady(name, REPLICAS);
  await kubectl("delete", "pod", victim?.name ?? "", "--wait");
  await untilReady(name, REPLICAS);
}

async function deleteStore(name: string): Promise<void> {
  const [before] = await untilReady(name, 1);
  await kubectl("delete", "pod", before?.name ?? "", "--wait");
  await untilReady(name, 1);
  await untilAllReady();
}

/** The processes, too, have it again. */
async function untilAllReady(): Promise<void> {
  await eventually(async () => {
    const waiting = (await pods()).filter((pod: Pod) => !pod.isReady && isProcess(pod));
    if (waiting.length > 0) throw new Error(`Not ready: ${waiting.map((pod) => pod.name).join(", ")}`);
  }, RESTART);
}

function isProcess({ component }: Pod): boolean {
  return deployments.some(({ name }) => name === component);
}
