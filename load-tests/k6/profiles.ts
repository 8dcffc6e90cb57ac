import { settings } from "./settings.ts";

/** A part of a run: the load goes in a line to `factor` times what is expected, in this share of the time. */
interface Stage {
  share: number;
  factor: number;
}

export interface Profile {
  /** The seconds of the whole run. */
  seconds: number;
  /** One without a ramp begins with the load of its only stage. */
  stages: Stage[];
  /** How many times slower than a limit an answer may be. */
  slack: number;
  /** The share of requests that may fail. */
  failures: number;
  /** Whether each iteration has to begin when it is due. */
  isPunctual: boolean;
  /** The run ends with the first limit that is passed. */
  endsAtLimit?: boolean;
  /** Iterations a minute of each journey, whatever is expected of it. */
  perMinute?: number;
}

const MINUTE = 60;
const HOUR = 60 * MINUTE;

const profiles: Record<string, Profile> = {
  /** Does every journey still go its way? Without limits of time: it may run on a busy machine. */
  smoke: {
    seconds: 15,
    stages: [{ share: 1, factor: 1 }],
    slack: 20,
    failures: 0,
    isPunctual: true,
    perMinute: 20,
  },
  /** The expected load of the busiest hour. */
  load: {
    seconds: 30 * MINUTE,
    stages: [
      { share: 0.1, factor: 1 },
      { share: 0.9, factor: 1 },
    ],
    slack: 1,
    failures: 0.001,
    isPunctual: true,
  },
  /** Half as much more, then twice as much, and back again. */
  stress: {
    seconds: 20 * MINUTE,
    stages: [
      { share: 0.1, factor: 1 },
      { share: 0.1, factor: 1.5 },
      { share: 0.2, factor: 1.5 },
      { share: 0.1, factor: 2 },
      { share: 0.3, factor: 2 },
      { share: 0.05, factor: 1 },
      { share: 0.15, factor: 1 },
    ],
    slack: 2,
    failures: 0.01,
    isPunctual: false,
  },
  /** Ten times as much for two minutes of twelve: what cannot be done is refused, and then all is as before. */
  spike: {
    seconds: 12 * MINUTE,
    stages: [
      { share: 0.25, factor: 1 },
      { share: 0.02, factor: 10 },
      { share: 0.165, factor: 10 },
      { share: 0.02, factor: 1 },
      { share: 0.545, factor: 1 },
    ],
    slack: 40,
    failures: 0.5,
    isPunctual: false,
  },
  /** Half of what is expected, for long: what grows shows. */
  soak: {
    seconds: 4 * HOUR,
    stages: [{ share: 1, factor: 0.5 }],
    slack: 1,
    failures: 0.001,
    isPunctual: true,
  },
  /** Ever more, until a limit is passed: the run fails then, and its result says how far it came. */
  breakpoint: {
    seconds: 30 * MINUTE,
    stages: [
      { share: 0.05, factor: 1 },
      { share: 0.95, factor: 30 },
    ],
    slack: 1,
    failures: 0.01,
    isPunctual: false,
    endsAtLimit: true,
  },
};

/** The one that this run takes. */
export const profile = chosen(settings.profile);

function chosen(name: string): Profile {
  const found = profiles[name];
  if (!found) throw new Error(`There is no profile ${name}, only ${Object.keys(profiles).join(", ")}.`);
  return { ...found, seconds: settings.seconds || found.seconds };
}
