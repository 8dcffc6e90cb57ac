import { readOf } from "../public/beside-reads.ts";
import { cookieOf } from "../public/site.ts";
import { type SteadyResult, sendSteadily } from "../public/steady-load.ts";
import { anyDevice, BROWSER } from "../public/workloads.ts";
import type { SendingBench } from "./sending-bench.ts";
import { whileSending } from "./while-sending.ts";

/** The API and a landing page, while a broadcast goes out and without. */
export interface BesideBroadcast {
  name: string;
  alone: SteadyResult;
  beside: SteadyResult;
}

const PER_SECOND = 50;
const SECONDS = 20;
const CONNECTIONS = 16;

export async function measureBesideBroadcast(bench: SendingBench): Promise<BesideBroadcast[]> {
  const { target, options, web } = bench;
  const { site } = web;
  const steadily = { url: target.url, perSecond: PER_SECOND, connections: CONNECTIONS };
  const readAndVisit = (seconds: number) =>
    Promise.all([
      sendSteadily({
        ...{ ...steadily, seconds },
        request: (number) => readOf(number, options.contacts, target.headers),
      }),
      sendSteadily({
        ...{ ...steadily, seconds },
        request: () => ({
          ...{ method: "GET", path: site.pagePath },
          headers: { ...BROWSER, cookie: cookieOf(anyDevice(site)) },
        }),
      }),
    ]);
  await readAndVisit(1);
  const alone = await readAndVisit(SECONDS);
  const beside = await whileSending(bench, () => readAndVisit(SECONDS));
  return [
    { name: "the API", alone: alone[0], beside: beside[0] },
    { name: "a landing page", alone: alone[1], beside: beside[1] },
  ];
}
