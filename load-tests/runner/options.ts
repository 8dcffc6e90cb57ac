import { parseArgs } from "node:util";

export interface LoadOptions {
  profile: string;
  /** All when empty. */
  journeys: string[];
  /** A product that runs already; our own when absent. */
  url: string | undefined;
  /** How many times the load of the profile. */
  rate: number;
  /** The seconds of the whole run; the profile's own when absent. */
  seconds: number | undefined;
  /** How many contacts there are besides those that journeys make. */
  contacts: number;
  /** Where the result goes. */
  folder: string;
}

export const PROFILES = ["smoke", "load", "stress", "spike", "soak", "breakpoint"];

const USAGE = `npm run load -- PROFILE [options]

  PROFILE           ${PROFILES.join(", ")}
  --journey NAME    one of load-tests/k6/journeys; may be repeated (all when left out)
  --url URL         a product that runs already, with ADMIN_PASSWORD in the environment; else one is started for the run
  --rate NUMBER     how many times the load of the profile
  --duration TIME   how long it lasts: 90s, 20m, 4h
  --contacts NUMBER how many contacts there are besides (0); made before it and removed after it
  --out FOLDER      where the result goes (load-result)

npm run load -- bundle   makes load-tests/dist/load-test.js, receiver.mjs: what a cluster needs`;

const SECONDS: Record<string, number> = { s: 1, m: 60, h: 3_600 };

/** Throws an error with the usage. */
export function readOptions(args: string[]): LoadOptions {
  const { values, positionals } = parse(args);
  const [profile = "", ...rest] = positionals;
  const rate = Number(values.rate);
  const seconds = values.duration === undefined ? undefined : secondsOf(values.duration);
  const contacts = Number(values.contacts);
  const isNumbered = rate > 0 && Number.isInteger(contacts) && contacts >= 0;
  if (!PROFILES.includes(profile) || rest.length > 0 || !isNumbered) throw new Error(USAGE);
  return { profile, journeys: values.journey, url: values.url, rate, seconds, contacts, folder: values.out };
}

function parse(args: string[]) {
  try {
    return parseArgs({
      args,
      allowPositionals: true,
      options: {
        journey: { type: "string", multiple: true, default: [] },
        url: { type: "string" },
        rate: { type: "string", default: "1" },
        duration: { type: "string" },
        contacts: { type: "string", default: "0" },
        out: { type: "string", default: "load-result" },
      },
    });
  } catch (error) {
    throw new Error(`${(error as Error).message}\n\n${USAGE}`);
  }
}

function secondsOf(text: string): number {
  const [, amount, unit = ""] = /^(\d+)([smh])$/.exec(text) ?? [];
  const seconds = Number(amount) * (SECONDS[unit] ?? Number.NaN);
  if (!(seconds >= 1)) throw new Error(`${text} is no duration: 90s, 20m, 4h`);
  return seconds;
}
