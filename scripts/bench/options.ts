import { parseArgs } from "node:util";

export interface BenchOptions {
  contacts: number;
  /** Hits of the public web, of which the last line of that has so many. */
  hits: number;
  /** Mails of a broadcast. */
  mails: number;
  /** Rows of the ledger that sends are claimed from. */
  sends: number;
  /** The memory that Postgres caches pages in, as its `shared_buffers`. */
  buffers: string;
  /** Mails are sent by a process of their own, as the chart has it, and not by the content service. */
  areSendersApart: boolean;
  /** The seconds of one round. */
  seconds: number;
  /** Only the lines whose name starts with one of these; all when empty. */
  only: string[];
  /** The process that writes a CPU profile when it ends. */
  profiled: (typeof PROFILED)[number] | undefined;
  /** The result of an earlier run, to say what has become worse since. */
  comparedWith: string | undefined;
  /** Writes docs/query-plans.md anew. */
  writesPlans: boolean;
  /** Measures what traces and scrapes cost, and nothing else. */
  measuresTelemetry: boolean;
}

const USAGE =
  "npm run bench -- [--contacts 100000] [--hits 200000] [--mails 5000] [--sends 1000000] [--seconds 3] [--only get,patch] [--buffers 256MB] [--apart] [--prof contact|content|gateway|webhook] [--plans] [--telemetry] [--compare docs/bench.json]";
const PROFILED = ["contact", "content", "webhook", "gateway"] as const;

/** Throws an error with the usage. */
export function readOptions(args: string[]): BenchOptions {
  const { values } = parseArgs({
    args,
    options: {
      contacts: { type: "string", default: "100000" },
      hits: { type: "string", default: "200000" },
      mails: { type: "string", default: "5000" },
      sends: { type: "string", default: "1000000" },
      seconds: { type: "string", default: "3" },
      only: { type: "string", default: "" },
      buffers: { type: "string", default: "256MB" },
      apart: { type: "boolean", default: false },
      prof: { type: "string" },
      compare: { type: "string" },
      plans: { type: "boolean", default: false },
      telemetry: { type: "boolean", default: false },
    },
  });
  const contacts = Number(values.contacts);
  const hits = Number(values.hits);
  const mails = Number(values.mails);
  const sends = Number(values.sends);
  const seconds = Number(values.seconds);
  const profiled = PROFILED.find((name) => name === values.prof);
  const isValid =
    [contacts, hits, mails, sends].every((count) => Number.isInteger(count) && count >= 1_000) &&
    seconds > 0 &&
    /^\d+[MG]B$/.test(values.buffers);
  if (!isValid || (values.prof && !profiled)) throw new Error(`Usage: ${USAGE}`);
  return {
    contacts,
    hits,
    mails,
    sends,
    buffers: values.buffers,
    areSendersApart: values.apart,
    seconds,
    only: values.only.split(",").filter(Boolean),
    profiled,
    comparedWith: values.compare,
    writesPlans: values.plans,
    measuresTelemetry: values.telemetry,
  };
}
