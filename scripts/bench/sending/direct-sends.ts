import { untilQuiet } from "../measure.ts";
import { sendSteadily } from "../public/steady-load.ts";
import { percentile } from "../statistics.ts";
import { publishEmail } from "./newsletter.ts";
import type { SendingBench } from "./sending-bench.ts";
import { now } from "./start-sink.ts";
import { whileSending } from "./while-sending.ts";

/** Milliseconds from a request to its mail in the sink. */
export interface DirectSends {
  name: string;
  mails: number;
  p50: number;
  p99: number;
  goalMs: number;
}

const PER_SECOND = 20;
const SECONDS = 15;
const WARM_UP_SECONDS = 2;
const CONNECTIONS = 64;

/** Mails to single contacts, 20 a second: with nothing else to do, and while a broadcast goes out. */
export async function measureDirectSends(bench: SendingBench): Promise<DirectSends[]> {
  const { target, client, web } = bench;
  const emailId = await publishEmail(target, undefined);
  // The contacts that a broadcast comes to last.
  const { rows } = await client.query(
    "select id, email from contact.contacts where email is not null order by id desc limit $1",
    [PER_SECOND * SECONDS],
  );
  const send = (seconds: number) => sendDirectly(bench, { emailId, contacts: rows, seconds });
  await send(WARM_UP_SECONDS);
  await web.drained();
  await untilQuiet(target.pids);
  const idle = await send(SECONDS);
  const beside = await whileSending(bench, () => send(SECONDS));
  return [
    { name: "a direct send, idle", ...idle, goalMs: 150 },
    { name: "a direct send beside a broadcast", ...beside, goalMs: 2_000 },
  ];
}

async function sendDirectly(
  { target, sink }: SendingBench,
  {
    emailId,
    contacts,
    seconds,
  }: { emailId: number; contacts: { id: number; email: string }[]; seconds: number },
) {
  const mails = PER_SECOND * seconds;
  const askedAt = new Map<string, number>();
  const latencies: number[] = [];
  const all = Promise.withResolvers<void>();
  const addresses = contacts.slice(0, mails).map(({ email }) => email);
  sink.watch(addresses, (address, takenAt) => {
    const at = askedAt.get(address);
    // A mail of the broadcast to the same address is not meant.
    if (at === undefined) return;
    askedAt.delete(address);
    latencies.push(takenAt - at);
    if (latencies.length === mails) all.resolve();
  });
  const { failures } = await sendSteadily({
    ...{ url: target.url, perSecond: PER_SECOND, seconds, connections: CONNECTIONS },
    request(number) {
      const { id, email } = contacts[number] as { id: number; email: string };
      askedAt.set(email, now());
      const headers = { ...target.headers, "content-type": "application/json" };
      return { method: "POST", path: `/api/emails/${emailId}/contact/${id}/send`, headers, body: "{}" };
    },
  });
  if (failures > 0) throw new Error(`${failures} direct sends were not answered`);
  await all.promise;
  sink.watch([], () => undefined);
  latencies.sort((one, other) => one - other);
  return { mails, p50: percentile(latencies, 0.5), p99: percentile(latencies, 0.99) };
}
