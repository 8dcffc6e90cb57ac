import { setTimeout as pause } from "node:timers/promises";
import { type MailSink, startMailSink } from "@tidings/testkit/mail-sink";
import { NODE } from "./cluster.ts";
import { apply } from "./kubectl.ts";

/** A slow server keeps every connection of the senders between the end of a mail and its answer for most of the time, when a kill is worst. */
const ANSWER_MS = 400;

/** Starts a mail server on the node, and makes the Secret by which the installation finds it (`values/load.yaml`). */
export async function startMailServer(): Promise<MailSink> {
  const host = NODE.RECEIVER_IP;
  const onMail = async () => {
    await pause(ANSWER_MS);
    return undefined;
  };
  const mailServer = await startMailSink({ host, onMail }, Number(NODE.MAIL_PORT));
  const stringData = { MAIL_URL: `smtp://${host}:${mailServer.port}?tls=off` };
  await apply(
    JSON.stringify({ apiVersion: "v1", kind: "Secret", metadata: { name: "mail-server" }, stringData }),
  );
  return mailServer;
}
