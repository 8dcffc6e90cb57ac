// The program that sends are compared with: nodemailer's pool and a loop over recipients, with finished parts. Nothing is asked or kept.
import { createTransport } from "nodemailer";

/** A request of the bench: hand over so many mails of these parts. The answer, an empty object, comes when all were taken. */
export interface LoopRequest {
  count: number;
  parts: { from: string; subject: string; html: string; text: string; headers: Record<string, string> };
}

const CONNECTIONS = 16;

const transport = createTransport({
  pool: true,
  host: "127.0.0.1",
  port: Number(process.env.SINK_PORT),
  ignoreTLS: true,
  maxConnections: CONNECTIONS,
  maxMessages: Number.POSITIVE_INFINITY,
});

process.once("disconnect", () => process.exit(0));
process.on("message", async ({ count, parts }: LoopRequest) => {
  let begun = 0;
  const send = async () => {
    while (begun < count) {
      begun += 1;
      await transport.sendMail({ ...parts, to: `reader.${begun}@example.com` });
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, send));
  process.send?.({});
});
process.send?.({});
