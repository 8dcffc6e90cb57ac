import { circuitBreaker } from "./circuit-breaker.ts";
import type { HandOver, MailTransport } from "./mail-transport.ts";

const NONE: HandOver = {
  ...{ state: "away", isRefusedSignIn: false, code: undefined },
  text: "No transport takes mails.",
};

/**
 * Hands each mail over to the first of several transports that takes mails. A mail goes on to the next transport only when the server was away, before an octet of it
 * left: so nobody gets it twice. A transport that was away three times in a row is passed over, but for probes. `now` is a monotonic clock in milliseconds.
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
      }
      return outcome;
    },
    close() {
      for (const transport of transports) transport.close();
    },
  };
}
