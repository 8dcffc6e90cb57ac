import type { Range } from "@tidings/outbound/address";
import { createOutbound } from "@tidings/outbound/outbound";
import type { Log } from "@tidings/runtime/log";
import { apiTransport } from "./api-transport.ts";
import type { TextTransport } from "./text-transport.ts";
import type { TransportUrl } from "./transport-url.ts";

/** A provider gets so long to answer. */
const ANSWER_MS = 15_000;

/** Opens the transport that a URL says, for messages that words call so. */
export function openTextTransport(
  url: TransportUrl,
  { log, allowed, plural }: { log: Log; allowed: Range[]; plural: string },
): TextTransport {
  return url.kind === "log"
    ? logTransport(log, plural)
    : apiTransport(url, plural, createOutbound({ allowed, timeoutMs: ANSWER_MS }));
}

/** For development: messages are lines of the log, and none leaves. */
function logTransport(log: Log, plural: string): TextTransport {
  return {
    name: "log:",
    async handOver({ to, values }, mayBegin) {
      if (!mayBegin()) return { state: "not begun" };
      log.info({ to, ...values }, `${plural} are written to this log`);
      return { state: "taken", code: 200, text: "" };
    },
    close: async () => undefined,
  };
}
