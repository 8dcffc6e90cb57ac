import { circuitBreaker } from "./circuit-breaker.ts";
import type { HandOver, MailTransport } from "./mail-transport.ts";
import { CONVERSATION_MS } from "./smtp-conversation.ts";

/** A transport that takes longer to find that it is away leaves the mail to the next attempt: else each of them could take a whole conversation. */
const GOES_ON_MS = 60_000;
/** A mail has an outcome after so long, however many transports there are. */
export const HAND_OVER_MS_MAX = GOES_ON_MS + CONVERSATION_MS;

const NONE: HandOver = {
  ...{ state: "away", isRefusedSignIn: false, code: undefined },
  text: "No transport takes mails.",
};

/**
 * Hands each mail over to the first of several transports that takes mails. A mail goes on to the next transport only when the server was away, before an octet of it
 * left, and that was known within a minute: so nobody gets it twice. A transport that was away three times in a row is passed over, but for probes. `now` is a monotonic clock in milliseconds.
 */
export function failoverTransport(
  transports: MailTransport[],
  now: () => number = () => performance.now(),
): MailTransport {
  const guarded = transports.map((transport) => ({ transport, breaker: circuitBreaker() }));
  return {
    name: transports.map(({ name }) => name).join(", "),
    async handOver(mail) {
      // While none is known to take mails, each of them is tried: the first that is back is found at once.
      const areAllOpen = guarded.every(({ breaker }) => breaker.isOpen);
      const goesOnUntil = now() + GOES_ON_MS;
      let outcome = NONE;
      for (const { transport, breaker } of guarded) {
        const isProbe = breaker.takeProbe(now());
        if (breaker.isOpen && !isProbe && !areAllOpen) continue;
        outcome = await transport.handOver(mail);
        if (outcome.state !== "away") {
          breaker.succeeded();
          return outcome;
        }
        breaker.failed(now(), isProbe);
        if (now() > goesOnUntil) return outcome;
      }
      return outcome;
    },
    close() {
      for (const transport of transports) transport.close();
    },
  };
}
