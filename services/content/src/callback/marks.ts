import type { Callback, ProviderName } from "./callback-secrets.ts";

/** Headers that a provider takes off a mail and says again in its callbacks; those without one say the Message-ID again. */
const MARKS: Partial<Record<ProviderName, (hash: string) => [string, string]>> = {
  postmark: (hash) => ["X-PM-Metadata-tidings", hash],
  sendgrid: (hash) => ["X-SMTPAPI", JSON.stringify({ unique_args: { tidings: hash } })],
  ses: (hash) => ["X-SES-MESSAGE-TAGS", `tidings=${hash}`],
  sparkpost: (hash) => ["X-MSYS-API", JSON.stringify({ metadata: { tidings: hash } })],
};

/** The headers by which the providers whose callbacks are taken name a send. */
export function marksOf(callbacks: Callback[]): (hash: string) => [string, string][] {
  const marks = callbacks.flatMap(({ name }) => MARKS[name] ?? []);
  return (hash) => marks.map((mark) => mark(hash));
}
