import { mailLinks } from "@tidings/content/send/mail-links";
import { Client } from "pg";
import type { Target } from "../measure.ts";
import type { BenchOptions } from "../options.ts";
import type { PublicWeb } from "../public/public-web.ts";
import type { TemporaryStack } from "../temporary-stack.ts";
import { measureSendingMemory } from "./attachment-memory.ts";
import { measureBesideBroadcast } from "./beside-broadcast.ts";
import { measureChoosing } from "./choosing.ts";
import { measureClaims } from "./claims.ts";
import { measureDirectSends } from "./direct-sends.ts";
import { measureHandOvers } from "./hand-over.ts";
import { gatherReaders } from "./newsletter.ts";
import type { SendingBench } from "./sending-bench.ts";
import {
  printBesideBroadcast,
  printChoosing,
  printClaims,
  printDirectSends,
  printHandOvers,
  printSendingMemory,
  printWaysBack,
} from "./sending-report.ts";
import type { Sink } from "./start-sink.ts";
import { measureWaysBack } from "./ways-back.ts";

/** Variables of content with which mails go to the sink. */
export function sendingTo({ port }: Sink): Record<string, string> {
  return { MAIL_URL: `smtp://127.0.0.1:${port}?tls=off`, MAIL_FROM: "Shop <shop@mail.example>" };
}

interface SendingOptions {
  own: TemporaryStack;
  ours: Target;
  options: BenchOptions;
  web: PublicWeb;
  sink: Sink;
  publicTokenKey: string;
  isWanted(name: string): boolean;
}

/** Rows in the order in which they are measured: memory before anything large was sent. Each is printed as soon as it is known. */
const ROWS = {
  "sending-memory": shown(measureSendingMemory, printSendingMemory),
  "sending-rate": shown(measureHandOvers, printHandOvers),
  "sending-direct": shown(measureDirectSends, printDirectSends),
  "sending-beside": shown(measureBesideBroadcast, printBesideBroadcast),
  "sending-back": shown(measureWaysBack, printWaysBack),
  "sending-choose": shown(measureChoosing, printChoosing),
  "sending-claim": shown(measureClaims, printClaims),
};

/** Rows, by the names that `--only` has for them: `sending` is all. */
export const SENDING_ROWS = Object.keys(ROWS);

/** All rows of sending that are wanted, by their names. */
export async function measureSending(wanted: SendingOptions): Promise<Record<string, unknown>> {
  const { own, ours, options, web, sink, publicTokenKey, isWanted } = wanted;
  const client = new Client({ connectionString: own.postgres.url });
  await client.connect();
  try {
    const bench: SendingBench = {
      ...{ target: ours, options, client, sink, web },
      databaseUrl: own.postgres.url,
      postgresPid: own.postgres.pid,
      readers: await gatherReaders(ours),
      links: mailLinks([publicTokenKey], ours.url),
    };
    const results: Record<string, unknown> = {};
    for (const [name, measure] of Object.entries(ROWS))
      if (isWanted(name)) results[name] = await measure(bench);
    return results;
  } finally {
    await client.end();
  }
}

function shown<T>(measure: (bench: SendingBench) => Promise<T>, print: (result: T) => void) {
  return async (bench: SendingBench) => {
    const result = await measure(bench);
    print(result);
    return result;
  };
}
