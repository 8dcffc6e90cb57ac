const ISO_LOCAL = /^\d{4}-\d\d-\d\d[ t]\d\d:\d\d(:\d\d(\.\d+)?)?$/i;
const ISO = /^\d{4}-\d\d-\d\d([ t]\d\d:\d\d(:\d\d(\.\d+)?)?(z|[+-]\d\d:?\d\d)?)?$/i;
// Anything else must begin like a date: the runtime's parser would find one in almost any text.
const DATE_WORD = /^(\d|mon|tue|wed|thu|fri|sat|sun|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)/i;
const LATEST = Date.UTC(9999, 11, 31);
const EARLIEST = Date.UTC(1, 0, 1);

/** Date text in the usual forms; without a zone it is UTC. Milliseconds since the epoch, or undefined. */
export function parseDateText(text: string): number | undefined {
  const milliseconds = Date.parse(withZone(text.trim()));
  return milliseconds >= EARLIEST && milliseconds <= LATEST ? milliseconds : undefined;
}

function withZone(text: string): string {
  if (ISO_LOCAL.test(text)) return `${text.replace(" ", "T")}Z`;
  if (ISO.test(text)) return text.replace(" ", "T");
  if (!DATE_WORD.test(text)) return "";
  return /(z|utc|gmt|[+-]\d\d:?\d\d)$/i.test(text) ? text : `${text} UTC`;
}
