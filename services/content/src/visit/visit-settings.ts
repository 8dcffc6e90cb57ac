import {
  type EndingTokens,
  endingTokens,
  type PublicTokens,
  publicTokens,
} from "@tidings/secrets/public-token";
import type { ContentConfig } from "../config.ts";
import type { MachineRules } from "./machine.ts";
import type { PlaceOf } from "./places.ts";

/** Settings of visits to the public web. */
export interface VisitSettings {
  /** The time by the clock of the database, in milliseconds since 1970. */
  now: () => number;
  /** The address of the public web. */
  publicUrl: string;
  /** The word in cookies and names of parameters. */
  prefix: string;
  /** Is it reached by https alone? */
  isSecure: boolean;
  /** Origins of other sites that may read answers; `*` is any, without cookies. */
  origins: ReadonlySet<string>;
  consent: "signal" | "required" | "off";
  ipForm: "full" | "short" | "none";
  machines: MachineRules;
  /** A visitor without a device is the one who came from the same address before. */
  isFoundByAddress: boolean;
  placeOf: PlaceOf;
  tokens: {
    click: PublicTokens;
    target: PublicTokens;
    hit: PublicTokens;
    device: EndingTokens;
    preview: EndingTokens;
  };
}

export function visitSettings(
  config: ContentConfig,
  { placeOf, now }: Pick<VisitSettings, "placeOf" | "now">,
): VisitSettings {
  const keys = config.PUBLIC_TOKEN_KEYS;
  return {
    now,
    publicUrl: config.PUBLIC_URL,
    prefix: config.PUBLIC_PREFIX,
    isSecure: new URL(config.PUBLIC_URL).protocol === "https:",
    origins: new Set(config.TRACKING_ORIGINS),
    consent: config.TRACKING_CONSENT,
    ipForm: config.TRACKING_IP,
    // A part of an address is that of many.
    isFoundByAddress: config.TRACK_BY_IP && config.TRACKING_IP === "full",
    placeOf,
    machines: {
      agents: config.BOT_AGENTS.map((word) => word.toLowerCase()),
      networks: config.MACHINE_NETWORKS,
      excluded: config.DO_NOT_TRACK_IPS,
    },
    tokens: {
      click: publicTokens(keys, "click"),
      target: publicTokens(keys, "link target"),
      hit: publicTokens(keys, "hit"),
      device: endingTokens(keys, "device"),
      preview: endingTokens(keys, "preview"),
    },
  };
}
