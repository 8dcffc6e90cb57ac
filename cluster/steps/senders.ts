import { SENDER } from "@tidings/scripts/deployments";
import { type Broadcast, makeBroadcast } from "../broadcast.ts";
import { kill, killForGood } from "../kill.ts";
import { kubectl, untilReady } from "../kubectl.ts";
import { RELEASE } from "../release.ts";
import type { Outcome, Step, World } from "../step.ts";
import { underLoad } from "../under-load.ts";

const REPLICAS = 2;
/** `MAIL_CONNECTIONS` of values/load.yaml: mails that a sender hands over at a time. */
const CONNECTIONS = 16;
const CONTACTS = 3_000;
/** Senders are killed until so many mails are taken, at least so often. */
const KILL_UNTIL = 0.8 * CONTACTS;
const KILLS_MIN = 4;
/** Mails between two kills. */
const BETWEEN = 100;
const TIMEOUT = "--timeout=4m";

/** Senders go while a broadcast is under way. The mail server says what came, and the API what became of each mail. */
export const senderSteps: Step[] = [
  {
    name: "senders",
    run: async (world) => [
      await duringBroadcast(world, {
        name: "rolled",
        what: "restart all senders during a broadcast",
        async act(broadcast) {
          await kubectl("rollout", "restart", "deployment", `${RELEASE}-${SENDER.name}`);
          await kubectl("rollout", "status", "deployment", `${RELEASE}-${SENDER.name}`, TIMEOUT);
          if (broadcast.taken() === CONTACTS)
            throw new Error("all was sent before the last one was replaced");
          return broadcast.settle(0);
        },
      }),
      await duringBroadcast(world, {
        name: "killed",
        what: "kill senders during a broadcast",
        async act(broadcast) {
          const kills = await killAgainAndAgain(broadcast);
          return `${kills} kills; ${await broadcast.settle(kills * CONNECTIONS)}`;
        },
      }),
    ],
  },
];

async function duringBroadcast(
  world: World,
  { name, what, act }: { name: string; what: string; act(broadcast: Broadcast): Promise<string> },
): Promise<Outcome> {
  const broadcast = await makeBroadcast(world, name, CONTACTS);
  return underLoad(world, {
    what,
    async act() {
      await broadcast.begin();
      return act(broadcast);
    },
  });
}

/** A pod comes back from the first kill and is deleted with the second one: no container waits longer and longer for its restarts. */
async function killAgainAndAgain(broadcast: Broadcast): Promise<number> {
  let kills = 0;
  for (; broadcast.taken() < KILL_UNTIL; kills++) {
    await (kills % 2 === 0 ? kill : killForGood)(SENDER.name, REPLICAS);
    await broadcast.more(BETWEEN);
  }
  await untilReady(SENDER.name, REPLICAS);
  if (kills < KILLS_MIN) throw new Error(`${kills} kills, and most mails were sent`);
  return kills;
}
