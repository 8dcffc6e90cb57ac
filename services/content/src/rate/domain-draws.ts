import type { Draw } from "./draw.ts";
import { type Line, putOff } from "./put-off.ts";

interface DomainDraw {
  draw: Draw;
  waiting: number;
  line: Line;
}

/** Draws of the domains that have a rate. A mail that finds no token is put off. */
export function domainDraws(
  open: (name: string, rateOf: () => number | undefined) => Draw,
  rateOf: (domain: string) => number | undefined,
) {
  const draws = new Map<string, DomainDraw>();
  const drawOf = (domain: string): DomainDraw => {
    const known = draws.get(domain);
    if (known) return known;
    const opened = { draw: open(domain, () => rateOf(domain)), waiting: 0, line: { nextMs: 0, lastMs: 0 } };
    draws.set(domain, opened);
    return opened;
  };
  const putOffBy = ({ draw, line }: DomainDraw, perSecond: number): number => {
    const nowMs = performance.now();
    const dueMs = putOff(line, { nowMs, tokenAtMs: nowMs + draw.emptyForMs(), perSecond });
    return (dueMs - nowMs) / 1_000;
  };
  return {
    /** Seconds that a mail has to wait, where it is known that there is no token. */
    waitOf(domain: string): number | undefined {
      const known = draws.get(domain);
      const perSecond = rateOf(domain);
      if (!known || perSecond === undefined || known.draw.emptyForMs() === 0) return undefined;
      return putOffBy(known, perSecond);
    },
    /** Uses a token, or says how many seconds the mail has to wait; neither where the domain has no rate. */
    async use(domain: string): Promise<{ draw?: Draw; delaySeconds?: number }> {
      if (rateOf(domain) === undefined) {
        draws.delete(domain);
        return {};
      }
      const known = drawOf(domain);
      const { draw } = known;
      known.waiting += 1;
      const isFree = await draw.use(known.waiting).finally(() => {
        known.waiting -= 1;
      });
      const perSecond = rateOf(domain);
      if (isFree || perSecond === undefined) return { draw };
      return { delaySeconds: putOffBy(known, perSecond) };
    },
  };
}
