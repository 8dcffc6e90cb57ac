import { randomUUID } from "node:crypto";
import { newRedirectId } from "@tidings/content/visit/redirects";
import { callApi } from "../call-api.ts";
import { cpuMicroseconds } from "../cpu-time.ts";
import { untilQuiet } from "../measure.ts";
import { startBenchProcess } from "../start-bench-process.ts";
import { median } from "../statistics.ts";
import type { LoopRequest } from "./bare-mail-loop.ts";
import { ARTICLE, beginBroadcast, publishEmail } from "./newsletter.ts";
import type { SendingBench } from "./sending-bench.ts";
import { now, type Taken } from "./start-sink.ts";

/** Mails of a broadcast from the request to the last one in the sink, and the same parts by the loop. */
export interface HandOvers {
  mails: number;
  /** Octets of the HTML part that the loop is given. */
  htmlLength: number;
  ours: MailRate;
  loop: MailRate;
  /** CPU of a mail as a multiple of the loop's, round by round. */
  costs: number[];
  /** The part of each process in the CPU of a mail. */
  parts: { name: string; cpu: number }[];
}

export interface MailRate {
  perSecond: number;
  /** Microseconds of a mail: of ours until nothing follows from it, in all processes, Postgres and NATS. */
  cpu: number;
  /** Octets of a mail, with its envelope. */
  octets: number;
}

const ROUNDS = 3;
const WARM_UP = 500;

/** Rounds of ours and of the loop in turn; the medians. */
export async function measureHandOvers(bench: SendingBench): Promise<HandOvers> {
  const { target, options, sink, web } = bench;
  const parts = await finishedParts(bench);
  const loop = await startBenchProcess("sending/bare-mail-loop.ts", { SINK_PORT: String(sink.port) });
  try {
    const loopOver = async (count: number): Promise<MailRate> => {
      const taken = sink.taken(count);
      return timed(count, [loop.pid], taken, async () => {
        const request: LoopRequest = { count, parts };
        const over = new Promise<void>((resolve) => loop.child.once("message", () => resolve()));
        loop.child.send(request);
        await over;
      });
    };
    const broadcastOver = async (count: number): Promise<MailRate> => {
      const emailId = await publishEmail(target, bench.readers);
      await untilQuiet(target.pids);
      const taken = sink.taken(count);
      return timed(count, target.pids, taken, async () => {
        const { id, answered } = await beginBroadcast(target, bench.client, emailId, count);
        await taken;
        await answered;
        await web.drained();
        await untilQuiet(target.pids);
        const { send } = await callApi(target, "GET", `emails/${emailId}/sends/${id}`);
        if (send.sent !== count) throw new Error(`${send.sent} mails sent, not ${count}`);
      });
    };
    await broadcastOver(WARM_UP);
    await loopOver(WARM_UP);
    const ours: MailRate[] = [];
    const bare: MailRate[] = [];
    const watched = [...web.processes, { name: "postgres", pid: bench.postgresPid }];
    const used = watched.map(() => 0);
    for (let number = 1; number <= ROUNDS; number += 1) {
      const before = watched.map(({ pid }) => cpuMicroseconds([pid]));
      ours.push(await broadcastOver(options.mails));
      for (const [index, { pid }] of watched.entries())
        used[index] = (used[index] ?? 0) + cpuMicroseconds([pid]) - (before[index] ?? 0);
      bare.push(await loopOver(options.mails));
    }
    return {
      mails: options.mails,
      htmlLength: Buffer.byteLength(parts.html),
      ours: medianRate(ours),
      loop: medianRate(bare),
      costs: ours.map(({ cpu }, index) => cpu / (bare[index]?.cpu ?? 0)),
      parts: watched.map(({ name }, index) => ({ name, cpu: (used[index] ?? 0) / (ROUNDS * options.mails) })),
    };
  } finally {
    await loop.stop();
  }
}

/** The mail of a contact as we write it: a preview has its links untracked, and no headers of mails to many. */
async function finishedParts({ target, readers, links }: SendingBench): Promise<LoopRequest["parts"]> {
  const emailId = await publishEmail(target, readers);
  const { subject, html, text } = await callApi(target, "GET", `emails/${emailId}/preview?contactId=1`);
  const send = { hash: randomUUID(), contactId: 1, emailId };
  const pixel = `<img height="1" width="1" src="${links.pixel(send)}" alt="">`;
  const list = `email-${emailId}.${new URL(target.url).hostname}`;
  return {
    ...{ from: "Shop <shop@mail.example>", subject, text },
    html: html
      .replaceAll(ARTICLE, () => links.tracked(send, newRedirectId(), []))
      .replace("</body>", `${pixel}</body>`),
    headers: {
      "X-EMAIL-ID": String(emailId),
      Precedence: "Bulk",
      "List-ID": `<${list}>`,
      "List-Unsubscribe": `<${links.unsubscribe(send)}>`,
      "List-Unsubscribe-Post": "List-Unsubscribe=One-Click",
      "Feedback-ID": `${emailId}:email:${list}`,
    },
  };
}

async function timed(
  count: number,
  pids: number[],
  taken: Promise<Taken>,
  work: () => Promise<void>,
): Promise<MailRate> {
  const cpuBefore = cpuMicroseconds(pids);
  const startedAt = now();
  await work();
  const { at, octets } = await taken;
  return {
    perSecond: (1_000 * count) / (at - startedAt),
    cpu: (cpuMicroseconds(pids) - cpuBefore) / count,
    octets: octets / count,
  };
}

function medianRate(rates: MailRate[]): MailRate {
  const middle = (name: keyof MailRate) => median(rates.map((rate) => rate[name]));
  return { perSecond: middle("perSecond"), cpu: middle("cpu"), octets: middle("octets") };
}
