import type { Request } from "autocannon";
import { medianRound } from "../compare.ts";
import { measure, type Round } from "../measure.ts";
import { cookieOf } from "../public/site.ts";
import { BROWSER, hitOf, VISITORS } from "../public/workloads.ts";
import { beginBroadcast, publishEmail } from "./newsletter.ts";
import type { SendingBench } from "./sending-bench.ts";

/** Opens and clicks of readers, beside hits of known visitors in the same run. */
export interface WaysBack {
  hit: Round;
  open: Round;
  click: Round;
}

const MAILS = 2_000;
const ROUNDS = 3;

/** Rounds of each in turn; the medians. The rate is that of answers, the CPU that of all that follows. */
export async function measureWaysBack(bench: SendingBench): Promise<WaysBack> {
  const { target, options, web } = bench;
  const mails = await mailsOf(bench);
  const anyMail = () => mails[Math.floor(Math.random() * mails.length)] as Mail;
  const visitor = { ...target, headers: {} };
  const requests = {
    hit: () => hitOf(web.site),
    open: () => get(anyMail(), "pixel"),
    click: () => get(anyMail(), "link"),
  };
  const rounds: Record<keyof WaysBack, Round[]> = { hit: [], open: [], click: [] };
  for (let number = 0; number <= ROUNDS; number += 1)
    for (const name of ["hit", "open", "click"] as const) {
      const seconds = number === 0 ? 1 : options.seconds;
      const load = { connections: VISITORS, seconds, settled: web.drained, isRedirected: name === "click" };
      const round = await measure(visitor, { ...load, request: requests[name] });
      // The first round of each warms up.
      if (number > 0) rounds[name].push(round);
    }
  return { hit: medianRound(rounds.hit), open: medianRound(rounds.open), click: medianRound(rounds.click) };
}

interface Mail {
  contactId: number;
  /** Paths of the public web. */
  pixel: string;
  link: string;
}

/** Mails that were sent to contacts whose browsers are known. */
async function mailsOf({ target, client, readers, links, sink, web }: SendingBench): Promise<Mail[]> {
  const emailId = await publishEmail(target, readers);
  const count = Math.min(MAILS, web.site.devices);
  const taken = sink.taken(count);
  await (await beginBroadcast(target, client, emailId, count)).answered;
  await taken;
  await web.drained();
  const { rows: sends } = await client.query(
    "select hash, contact_id, email_id from content.sends where email_id = $1 and state = 'sent'",
    [emailId],
  );
  const { rows: redirects } = await client.query(
    `select r.redirect_id from content.page_redirects r join content.channel_url_trackables t on t.redirect_id = r.id
     where t.channel = 'email' and t.channel_id = $1`,
    [emailId],
  );
  return sends.map(({ hash, contact_id, email_id }, index) => {
    const send = { hash, contactId: contact_id, emailId: email_id };
    const { redirect_id } = redirects[index % redirects.length];
    return {
      contactId: contact_id,
      pixel: pathOf(links.pixel(send)),
      link: pathOf(links.tracked(send, redirect_id, [])),
    };
  });
}

function pathOf(address: string): string {
  const { pathname, search } = new URL(address);
  return pathname + search;
}

/** The browser is that of the contact who got the mail: another one would be proven to be two people. */
function get({ contactId, ...paths }: Mail, name: "pixel" | "link"): Request {
  return { method: "GET", path: paths[name], headers: { ...BROWSER, cookie: cookieOf(contactId) } };
}
