import { processes } from "../../processes.ts";
import type { Target } from "../measure.ts";
import type { TemporaryStack } from "../temporary-stack.ts";
import { CONNECTIONS } from "../workloads.ts";
import { openDrainWatch } from "./drain-watch.ts";
import { type PublicSite, preparePublicSite } from "./site.ts";
import { sendSteadily } from "./steady-load.ts";
import { hitOf } from "./workloads.ts";

/** The public web as the bench uses it: a published site, visitors, and a wait for all that follows from them. */
export interface PublicWeb {
  site: PublicSite;
  /** Ends when no event is on its way. */
  drained(): Promise<void>;
  /** All processes of the stack and NATS. */
  processes: { name: string; readonly pid: number }[];
  close(): Promise<void>;
}

const MEETING_SECONDS = 5;

/** Publishes the site, and lets its browsers be seen. */
export async function openPublicWeb(
  own: TemporaryStack,
  target: Target,
  contacts: number,
): Promise<PublicWeb> {
  const watch = await openDrainWatch(own);
  try {
    const site = await preparePublicSite(target, {
      ...{ databaseUrl: own.postgres.url, filesDir: own.filesDir, contacts },
    });
    await meetDevices(target, site);
    await watch.untilDrained();
    const stackProcesses = processes.map(({ name }) => own.stack.process(name));
    return {
      site,
      drained: watch.untilDrained,
      processes: [...stackProcesses, { name: "nats-server", pid: own.natsPid }],
      close: watch.close,
    };
  } catch (error) {
    await watch.close();
    throw error;
  }
}

/** Each browser is seen once: the first visit makes a row of its device, which is no part of a known visitor's hit. */
async function meetDevices({ url }: Target, { devices }: PublicSite): Promise<void> {
  const { failures } = await sendSteadily({
    ...{ url, perSecond: devices / MEETING_SECONDS, seconds: MEETING_SECONDS, connections: CONNECTIONS },
    request: (number) => hitOf({ devices }, number + 1),
  });
  if (failures > 0) throw new Error(`${failures} first hits of browsers were not answered`);
}
