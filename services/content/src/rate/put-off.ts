/** The mails of a domain that were put off, as far as a process has to know when the next one is due. */
export interface Line {
  /** When the mail is due that gets the next token. */
  nextMs: number;
  /** When the last mail in the line is due. */
  lastMs: number;
}

export interface Missed {
  nowMs: number;
  /** When there is a token again. */
  tokenAtMs: number;
  perSecond: number;
}

/** A mail is not put off for longer, in case the rate or the line changes meanwhile. */
const PUT_OFF_MAX_MS = 600_000;

/** When a mail is due that found no token: the first such mail as soon as there is one, the others one after the other at the rate of the domain. */
export function putOff(line: Line, { nowMs, tokenAtMs, perSecond }: Missed): number {
  const limitMs = nowMs + PUT_OFF_MAX_MS;
  const isFirst = line.nextMs <= nowMs;
  if (isFirst) line.nextMs = Math.min(limitMs, tokenAtMs);
  else line.lastMs = Math.min(limitMs, Math.max(line.lastMs, line.nextMs) + 1_000 / perSecond);
  return isFirst ? line.nextMs : line.lastMs;
}
