import { untilQuiet } from "../measure.ts";
import { beginBroadcast, cancelBroadcast, publishEmail } from "./newsletter.ts";
import type { SendingBench } from "./sending-bench.ts";

const UNDER_WAY = 100;

/** Does the work while a broadcast to all contacts goes out, and cancels the rest of that. Throws where it was too short. */
export async function whileSending<T>(bench: SendingBench, work: () => Promise<T>): Promise<T> {
  const { target, client, sink, readers, web } = bench;
  const emailId = await publishEmail(target, readers);
  await untilQuiet(target.pids);
  const underWay = sink.taken(UNDER_WAY);
  const broadcast = await beginBroadcast(target, client, emailId);
  await underWay;
  const result = await work();
  const { rows } = await client.query("select finished_at from content.broadcasts where id = $1", [
    broadcast.id,
  ]);
  if (rows[0].finished_at) throw new Error("the broadcast was over too early: more --contacts are needed");
  await cancelBroadcast(target, client, broadcast);
  await web.drained();
  await untilQuiet(target.pids);
  return result;
}
