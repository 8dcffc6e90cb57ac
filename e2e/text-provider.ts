import { after, beforeEach } from "node:test";
import { type Answer, type ReceivedRequest, type Receiver, startReceiver } from "@tidings/testkit/receiver";

/** A provider of text messages, which keeps what it gets. */
export interface TextProvider extends Receiver {
  /** Its answers by number, until the end of a test; 201 for all others. */
  answers: Map<string, Answer>;
  requestsTo(number: string): ReceivedRequest[];
  /** The variables of an installation that sends to it. */
  content: Record<string, string>;
}

/** Starts it for one test file. */
export async function startTextProvider(): Promise<TextProvider> {
  const answers = new Map<string, Answer>();
  const provider = await startReceiver({
    respond: (request) => answers.get(fieldsOf(request).To ?? "") ?? { status: 201, body: '{"sid":"1"}' },
  });
  after(provider.stop);
  beforeEach(() => answers.clear());
  return {
    ...provider,
    answers,
    requestsTo: (number) => provider.requests.filter((request) => fieldsOf(request).To === number),
    content: {
      SMS_URL: `form+http://account:secret@127.0.0.1:${provider.port}/messages?from=+4930111&country=49`,
      OUTBOUND_ALLOW_CIDRS: "127.0.0.1/32",
    },
  };
}

/** The fields of a form that was posted. */
export function fieldsOf({ body }: ReceivedRequest): Record<string, string> {
  return Object.fromEntries(new URLSearchParams(body));
}
