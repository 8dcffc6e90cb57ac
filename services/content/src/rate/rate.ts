import { wireDomain } from "@tidings/mail/mail-address";

const RATE = /^(\d{1,9}(?:\.\d{1,6})?)\/(s|m|h)$/;
const SECONDS = { s: 1, m: 60, h: 3_600 };
const PER_SECOND_MIN = 1 / 3_600;
const PER_SECOND_MAX = 100_000;
const FORM = "is a number with /s, /m or /h behind it, from 1/h to 100000/s";

/** Mails in a second, read from `50/s`, `30/m` or `100/h`. */
export function readRate(text: string): number | { problem: string } {
  const [, count = "", unit = ""] = RATE.exec(text.trim()) ?? [];
  const perSecond = Number(count) / (SECONDS[unit as keyof typeof SECONDS] ?? 1);
  return count !== "" && perSecond >= PER_SECOND_MIN && perSecond <= PER_SECOND_MAX
    ? perSecond
    : { problem: `a rate ${FORM}` };
}

/** Mails in a second by the domain of the recipient in A-labels, read from entries such as `example.org=5/s`. */
export function readDomainRates(items: string[]): Map<string, number> | { problem: string } {
  const rates = new Map<string, number>();
  for (const item of items) {
    const [name = "", rate = "", ...rest] = item.split("=");
    const domain = wireDomain(name.trim().toLowerCase());
    const perSecond = readRate(rate);
    if (domain === undefined || rest.length > 0 || typeof perSecond === "object")
      return { problem: `an entry is a domain, =, and a rate, which ${FORM}` };
    if (rates.has(domain)) return { problem: `${domain} stands twice` };
    rates.set(domain, perSecond);
  }
  return rates;
}

/** The domain of a recipient in A-labels; undefined for a text that is no address. Subdomains are domains of their own. */
export function domainOf(address: string): string | undefined {
  return wireDomain(
    address
      .trim()
      .slice(address.trim().lastIndexOf("@") + 1)
      .toLowerCase(),
  );
}
