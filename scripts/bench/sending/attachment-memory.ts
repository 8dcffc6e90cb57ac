import { untilQuiet } from "../measure.ts";
import { publishFile } from "../public/site.ts";
import { recordMemory } from "../resident-memory.ts";
import { beginBroadcast, publishEmail, untilBroadcast } from "./newsletter.ts";
import type { SendingBench } from "./sending-bench.ts";

/** Resident megabytes of a process while a broadcast with an attachment goes out. */
export interface SendingMemory {
  name: string;
  atRest: number;
  most: number;
  /** When all is sent, and nothing follows any more. */
  after: number;
}

const ATTACHMENT_BYTES = 200_000;
const EVERY_MS = 500;

export async function measureSendingMemory(bench: SendingBench): Promise<SendingMemory[]> {
  const { target, client, readers, options, web } = bench;
  const asset = await publishFile(target, "Attached", ATTACHMENT_BYTES);
  const emailId = await publishEmail(target, readers, { assetAttachments: [asset.id] });
  await untilQuiet(target.pids);
  const atRest = recordMemory(web.processes).stop();
  const memory = recordMemory(web.processes, EVERY_MS);
  const broadcast = await beginBroadcast(target, client, emailId, options.mails);
  await untilBroadcast(client, broadcast, "is_over");
  await broadcast.answered;
  await web.drained();
  await untilQuiet(target.pids);
  return memory.stop().processes.map(({ name, megabytes }, index) => ({
    name,
    atRest: atRest.processes[index]?.megabytes[0] ?? Number.NaN,
    most: Math.max(...megabytes),
    after: megabytes.at(-1) ?? Number.NaN,
  }));
}
