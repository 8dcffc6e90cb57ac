import { setTimeout as pause } from "node:timers/promises";
import { backgroundDeadline, type Database } from "@tidings/database/database";
import { type BudgetRequest, type Grant, takeTokens } from "@tidings/jobs/rate-budget";
import type { HandOver } from "@tidings/mail/mail-transport";
import { coalesce } from "@tidings/runtime/coalesce/coalesce";
import { limited } from "@tidings/runtime/limited";
import type { Log } from "@tidings/runtime/log";
import { domainDraws } from "./domain-draws.ts";
import { type Draw, openDraw } from "./draw.ts";
import { refusedFor } from "./learned-rate.ts";
import { type LearnedRates, openLearnedRates } from "./learned-rates.ts";
import { domainOf } from "./rate.ts";
import { recentMails } from "./recent.ts";

export interface MailRatesOptions {
  database: Database;
  log: Log;
  /** Mails in a second of all processes; any number when undefined. */
  rate: number | undefined;
  /** The same by domain of the recipient. */
  domainRates: Map<string, number>;
}

/** Why a mail goes back, and for how long. */
export interface Wait {
  delaySeconds: number;
  reason?: string;
}

/** The turn of one mail. */
export interface Turn {
  /** Takes a place at the rate of the address' domain; how long the mail has to wait when there is none. */
  waitFor(address: string): Promise<Wait | undefined>;
  /** The mail did not go: others may. */
  giveBack(): void;
}

/** Rates of mails over all processes that send. */
export interface MailRates {
  /** Resolves once the rate of all mails has a place for one more. Urgent mails have places that others leave to them. */
  takeTurn(isUrgent: boolean): Promise<Turn>;
  /** How long a mail has to wait, where it is known that its domain has no place; undefined without an address. */
  waitOf(address: string | undefined, isUrgent: boolean): Wait | undefined;
  /** Learns from the answer of a server. */
  heed(address: string, handOver: HandOver): void;
  /** Mails that wait for their turn go back. */
  stop(): void;
}

const SERVER = "*";
const ASKED_AGAIN_MS = 5_000;
/** A domain gets one mail in a minute however often it refuses, the server one in a second. */
const FLOOR = { domain: 1 / 60, server: 1 };
const RATE_REASON = "The rate of the domain is used up (MAIL_DOMAIN_RATES).";
const LEARNED_REASON = "The domain refused mails for now, and gets fewer of them for a while.";

export function openMailRates(options: MailRatesOptions): MailRates {
  const stopping = new AbortController();
  const learned = openLearnedRates(options.database, options.log);
  const recent = recentMails();
  const openKind = kindOpener(options, learned, stopping.signal);
  const kinds = { urgent: openKind(true), bulk: openKind(false) };

  const toWait = (domain: string, delaySeconds: number | undefined): Wait | undefined => {
    if (delaySeconds === undefined) return undefined;
    return { delaySeconds, reason: learned.rateOf(domain) === undefined ? RATE_REASON : LEARNED_REASON };
  };

  return {
    async takeTurn(isUrgent) {
      const { ofAll, ofDomain } = isUrgent ? kinds.urgent : kinds.bulk;
      await ofAll.use();
      const held: Pick<Draw, "giveBack">[] = [ofAll];
      return {
        async waitFor(address) {
          if (stopping.signal.aborted) return { delaySeconds: 0 };
          const domain = domainOf(address);
          if (domain === undefined) return undefined;
          const { draw, delaySeconds } = await ofDomain.use(domain);
          if (draw) held.push(draw);
          return toWait(domain, delaySeconds);
        },
        giveBack() {
          for (const draw of held) draw.giveBack();
        },
      };
    },
    waitOf(address, isUrgent) {
      const domain = address === undefined ? undefined : domainOf(address);
      const { ofDomain } = isUrgent ? kinds.urgent : kinds.bulk;
      return domain === undefined ? undefined : toWait(domain, ofDomain.waitOf(domain));
    },
    heed(address, handOver) {
      const domain = domainOf(address);
      if (domain === undefined) return;
      const nowMs = performance.now();
      for (const name of [domain, SERVER]) recent.note(name, nowMs);
      const by = refusedFor(handOver);
      if (by === undefined) return;
      const name = by === "server" ? SERVER : domain;
      learned.refused({ domain: name, usual: recent.perSecond(name, nowMs), floor: FLOOR[by] });
    },
    stop() {
      stopping.abort();
      learned.stop();
    },
  };
}

/** Opens the draws of urgent mails, or of the others. */
function kindOpener(
  { database, rate, domainRates }: MailRatesOptions,
  learned: LearnedRates,
  stopping: AbortSignal,
) {
  const takeTogether = coalesce(async (requests: BudgetRequest[]) =>
    takeTokens(database, requests, backgroundDeadline()),
  );
  // Draws of one budget are two, which take in statements of their own: a statement names each budget once.
  return (isUrgent: boolean) => {
    const take = async (request: BudgetRequest): Promise<Grant> =>
      (await takeTogether(String(isUrgent), request)).get(request.name) ?? { granted: 0, waitSeconds: 1 };
    const draw = (name: string, rateOf: () => number | undefined) =>
      openDraw({ name: `mail ${name}`, isUrgent, rate: rateOf, take });
    const rateOfAll = () => lower(rate, learned.rateOf(SERVER));
    return {
      ofAll: waitingDraw(draw(SERVER, rateOfAll), stopping),
      ofDomain: domainDraws(draw, (domain) => lower(domainRates.get(domain), learned.rateOf(domain))),
    };
  };
}

/** A draw whose users wait, in the order in which they came, until there is a token. */
function waitingDraw(draw: Draw, signal: AbortSignal) {
  const inOrder = limited(1);
  let waiting = 0;
  return {
    async use(): Promise<void> {
      waiting += 1;
      await inOrder(async () => {
        while (!signal.aborted && !(await draw.use(waiting)))
          await pause(Math.min(draw.emptyForMs(), ASKED_AGAIN_MS), undefined, { signal }).catch(
            () => undefined,
          ); // we are to stop
      }).finally(() => {
        waiting -= 1;
      });
    },
    giveBack: draw.giveBack,
  };
}

function lower(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined ? other : Math.min(one, other ?? one);
}
