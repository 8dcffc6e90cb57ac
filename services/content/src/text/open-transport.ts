import type { Range } from "@tidings/outbound/address";
import { createOutbound } from "@tidings/outbound/outbound";
import type { Log } from "@tidings/runtime/log";
import { apiTransport } from "./api-transport.ts";
import type { TextTransport } from "./text-transport.ts";
import type { TextUrl } from "./transport-url.ts";

/** A provider gets so long to answer. */
const ANSWER_MS = 15_000;

export function openTextTransport(url: TextUrl, log: Log, allowed: Range[]): TextTransport {
  return url.kind === "log"
    ? logTransport(log)
    : apiTransport(url, createOutbound({ allowed, timeoutMs: ANSWER_MS }));
}

/** For development: messages are lines of the log, and none leaves. */
function logTransport(log: Log): TextTransport {
  return {
    name: "log:",
    async handOver({ address, content }, mayBegin) {
      if (!mayBegin()) return { state: "not begun" };
      log.info({ to: address, content }, "a text message");
      return { state: "taken", code: 200, text: "" };
    },
    close: async () => undefined,
  };
}
