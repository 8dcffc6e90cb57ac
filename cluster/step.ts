import type { MailSink } from "@tidings/testkit/mail-sink";
import type { Listener } from "./accounts.ts";
import type { Api } from "./api.ts";
import type { Installation } from "./release.ts";

/** The product as the steps find it: installed with two of each process. */
export interface World {
  installation: Installation;
  baseUrl: string;
  api: Api;
  listener: Listener;
  /** The mail server that all mails leave by. */
  mailServer: MailSink;
}

/** A line of the summary. */
export interface Outcome {
  ok: boolean;
  what: string;
  /** How long the disturbance itself took; absent where that means nothing. */
  seconds?: number;
  requests?: number;
  failed?: number;
  kept?: number;
  lost?: number;
  doubled?: number;
  note?: string;
}

/** The steps to choose from: `profiles` is each profile of the chart on its own, the others need the product installed. */
export const STEP_NAMES = [
  "profiles",
  "upgrade",
  "delete",
  "kill",
  "stores",
  "drain",
  "scale",
  "rotate",
  "policies",
  "senders",
] as const;
export type StepName = (typeof STEP_NAMES)[number];

/** Something that the product is taken through. */
export interface Step {
  name: StepName;
  run(world: World): Promise<Outcome[]>;
}
